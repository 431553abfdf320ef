import type { Feature } from '../../extensions.js';
import type { ProviderRow } from '../../platform/config/providers/provider-keys.js';
import { integer } from '../../platform/config/settings/parsers.js';

const GRACE = 86_400;
const RATE = 20;

const providerKeys = {
  recheck: {
    parser: integer(60, 2_592_000, 'seconds'),
    adapters: ['oidc'],
    defaultShown: 'never',
    doc: '`oidc`: seconds after which the provider is asked again while a session is in use (docs/guides/recheck.md).',
  },
  recheck_grace: {
    parser: integer(60, 31_536_000, 'seconds'),
    adapters: ['oidc'],
    needs: 'recheck',
    defaultShown: `${GRACE}`,
    doc: 'With `recheck`: seconds for which sessions go on while the provider does not answer.',
  },
  recheck_rate: {
    parser: integer(1, 1000, 'calls a second'),
    adapters: ['oidc'],
    needs: 'recheck',
    defaultShown: `${RATE}`,
    doc: 'With `recheck`: calls a second of all instances, approximately.',
  },
} as const satisfies Record<string, ProviderRow<unknown>>;

export interface RecheckSettings {
  /** Seconds between two questions about a user. */
  readonly interval: number;
  /** Seconds for which sessions go on without an answer of the provider. */
  readonly grace: number;
  /** Calls a second of all instances. */
  readonly rate: number;
}

declare module '../../platform/config/providers/provider-settings.js' {
  interface ProviderSettings {
    /** How the provider is asked again during a session; unset: never. */
    readonly recheck?: RecheckSettings | undefined;
  }
}

declare module '../../platform/events.js' {
  interface ServiceState {
    /** Seconds since the oldest due re-check became due. */
    readonly recheckDelay: number;
  }
}

export const recheck: Feature = {
  name: 'recheck',
  providerKeys,
  ofProvider(source) {
    const interval = source.read(providerKeys, 'recheck');
    const grace = source.read(providerKeys, 'recheck_grace') ?? GRACE;
    const rate = source.read(providerKeys, 'recheck_rate') ?? RATE;
    return interval === undefined ? {} : { recheck: { interval, grace, rate }, offline: true };
  },
  isOn: ({ providers }) => [...providers.values()].some((provider) => provider.recheck),
  module: async () => ({ module: (await import('./recheck.module.js')).RecheckModule }),
  endsEarly: true,
  gauges: [
    {
      key: 'recheckDelay',
      name: 'latchkey_recheck_delay_seconds',
      help: 'Seconds since the oldest user became due whom a provider is to be asked about again.',
    },
  ],
  entities: () => import('./provider-check.entity.js'),
  migrations: () => import('./migrations/1795824000004-recheck.js'),
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
