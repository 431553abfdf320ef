import type { Feature } from '../../extensions.js';

declare module '../../platform/events.js' {
  interface ServiceState {
    /** Seconds since the oldest due re-check became due. */
    readonly recheckDelay: number;
  }
  interface ProviderOperations {
    recheck: true;
  }
}

export const recheck: Feature = {
  name: 'recheck',
  isOn: ({ providers }) => [...providers.values()].some((provider) => provider.recheck),
  module: async () => ({ module: (await import('./recheck.module.js')).RecheckModule }),
  endsEarly: () => true,
  gauges: [
    {
      key: 'recheckDelay',
      name: 'latchkey_recheck_delay_seconds',
      help: 'Seconds since the oldest user became due whom a provider is to be asked about again.',
    },
  ],
  entities: () => import('./provider-check.entity.js'),
  work: {
    'ask-providers': { everyMs: 250, failure: 'providers were not asked again', level: 'warn' },
    'end-cut-sessions': {
      everyMs: 250,
      failure: 'sessions were not ended at their session_expiry',
      level: 'warn',
    },
    'wake-checks': {
      everyMs: 1000,
      failure: 'used sessions were not marked: they are with their next use',
    },
  },
};
