import type { ProviderRow } from '../../platform/config/providers/provider-keys.js';
import type { ProviderSettings } from '../../platform/config/providers/provider-settings.js';
import type { ProviderSource } from '../../platform/config/providers/provider-source.js';
import { list, onOff, text } from '../../platform/config/settings/parsers.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import { endpointUrl } from '../../platform/config/urls/urls.js';
import { ENDING } from './event-types.js';

export const providerKeys = {
  signals: {
    parser: onOff,
    adapters: ['oidc'],
    default: 'off',
    doc: '`oidc`: Shared Signals and global token revocation (docs/signals.md).',
  },
  signals_issuer: {
    parser: endpointUrl,
    needsHttps: true,
    needs: 'signals',
    defaultShown: "the provider's issuer; `okta`: the organisation",
    doc: 'With `signals`: issuer of security events, global revocations and logout tokens, if it is another one.',
  },
  signals_audience: {
    parser: text,
    needs: 'signals',
    defaultShown: 'only `PUBLIC_URL`',
    doc: 'With `signals`: a further audience (`aud`) of accepted security events.',
  },
  signals_end: {
    parser: list(ENDING.join(', '), (name) => ENDING.includes(name)),
    needs: 'signals',
    defaultShown: 'all',
    doc: `With \`signals\`: comma-separated events that end sessions: ${ENDING.map((one) => `\`${one}\``).join(', ')}.`,
  },
} as const satisfies Record<string, ProviderRow<unknown>>;

interface SignalsSettings {
  /** Also of logout tokens and global revocations; unset: the provider's. */
  readonly issuer?: string | undefined;
  /** A further accepted `aud`. */
  readonly audience?: string | undefined;
  /** Names of the events that end sessions (`session-revoked`); unset: all that can. */
  readonly endedBy?: readonly string[] | undefined;
}

declare module '../../platform/config/providers/provider-settings.js' {
  interface ProviderSettings {
    /** Shared Signals and global token revocation (docs/signals.md); unset: off. Adapter `oidc` only. */
    readonly signals?: SignalsSettings | undefined;
  }
}

export function readSignals(source: ProviderSource): Partial<ProviderSettings> {
  // Okta's organisation signs signals, its server `/oauth2/default` ID tokens (docs/directory/okta.md).
  const server = source.adapter === 'okta' ? source.text('url') : undefined;
  const organisation = /^(https?:\/\/[^/]+)\/oauth2\//i.exec(server ?? '')?.[1];
  const signals = {
    issuer: source.read(providerKeys, 'signals_issuer') ?? organisation,
    audience: source.read(providerKeys, 'signals_audience'),
    endedBy: source.read(providerKeys, 'signals_end'),
  };
  return source.read(providerKeys, 'signals') ? { signals } : {};
}

/** Returns the names of the providers with `signals=on`. */
export function signalProviders({ providers }: Pick<Settings, 'providers'>): readonly string[] {
  return [...providers.values()].filter(({ signals }) => signals).map(({ name }) => name);
}
