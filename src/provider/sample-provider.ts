import { SAMPLE_PROVIDER } from '../platform/config/providers/enabled-providers.js';
import type { ProviderSettings, Settings } from '../platform/config/settings/settings.js';

/**
 * Settings of the built-in provider: own addresses, a derived secret.
 * @returns undefined if this service does not serve it
 */
export function sampleProvider(settings: Settings): ProviderSettings | undefined {
  const { sampleProvider: configured, host, port, publicUrl, secretKey } = settings;
  if (!configured) return undefined;
  const path = `/providers/${SAMPLE_PROVIDER}`;
  return {
    ...configured.provider,
    label: configured.provider.label ?? 'Sample provider',
    name: SAMPLE_PROVIDER,
    adapter: 'contract',
    authTime: 'sign_in', // its page asks for the password each time
    url: `${publicUrl}${path}`,
    internalUrl: `http://${reachable(host)}:${port}${path}`,
    clientId: 'latchkey',
    clientSecret: secretKey.derive('sample-provider').toString('hex'),
  };
}

/** Host by which the service can call itself. */
function reachable(host: string): string {
  const anywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const address = anywhere[host] ?? host;
  return address.includes(':') ? `[${address}]` : address;
}
