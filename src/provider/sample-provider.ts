import { SAMPLE_PROVIDER } from '../config/enabled-providers.js';
import type { ProviderSettings, Settings } from '../config/settings.js';

/**
 * The built-in provider, as the service signs in with it: at addresses of its own, and with a secret that every instance
 * knows without being told. The provider itself has its client's credentials from here as well.
 *
 * @returns undefined where this service does not serve it
 */
export function sampleProvider(settings: Settings): ProviderSettings | undefined {
  const { sampleProvider: given, host, port, publicUrl, secretKey } = settings;
  if (!given) return undefined;
  const path = `/providers/${SAMPLE_PROVIDER}`;
  return {
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
