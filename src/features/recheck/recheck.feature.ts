import type { Feature } from '../../extensions.js';

export const recheck: Feature = {
  name: 'recheck',
  isOn: ({ providers }) => [...providers.values()].some((provider) => provider.recheck),
  module: async () => ({ module: (await import('./recheck.module.js')).RecheckModule }),
  entities: () => import('./provider-check.entity.js'),
  migrations: () => import('./migrations/1700000000004-recheck.js'),
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
