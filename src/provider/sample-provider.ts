import { SAMPLE_PROVIDER } from '../config/providers/enabled-providers.js';
import type { ProviderSettings, Settings } from '../config/settings/settings.js';

/**
 * The settings with which the service uses the built-in provider: addresses of its own, and a secret that every instance can
 * derive. The provider itself takes its client's credentials from here as well.
 *
 * @returns undefined where this service does not serve it
 */
export function sampleProvider(settings: Settings): ProviderSettings | undefined {
  const { sampleProvider: given, host, port, publicUrl, secretKey } = settings;
  if (!given) return undefined;
  const path = `/providers/${SAMPLE_PROVIDER}`;
  return {
    label: 'Sample provider',
    ...given.provider,
    name: SAMPLE_PROVIDER,
    adapter: 'contract',
    url: `${publicUrl}${path}`,
    internalUrl: `http://${reachable(host)}:${port}${path}`,
    clientId: 'latchkey',
    clientSecret: secretKey.derive('sample-provider').toString('hex'),
  };
}

/** The listening address as the service itself can call it. */
function reachable(host: string): string {
  const anywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const address = anywhere[host] ?? host;
  return address.includes(':') ? `[${address}]` : address;
}
