import { resolve } from 'node:path';
import type { Faults } from './invalid-settings.js';
import { isEnabled, options, ownCallback } from './parse-provider.js';
import { providerVariable } from './provider-variables.js';
import type { ProviderVariables } from './provider-variables.js';
import type { AccountsFile, ProviderSettings, SampleProviderSettings, Settings } from './settings.js';

/** The name of the built-in provider (spec §4.6); with a `url` it is a provider like any other. */
export const SAMPLE_PROVIDER = 'mock';

/** What was asked of the built-in provider; the rest follows from the address and the secret key. */
export interface SampleProviderRequest {
  readonly accountsFile?: AccountsFile;
  readonly provider: Pick<ProviderSettings, 'redirectUris' | 'issuer' | 'variables' | 'options'>;
}

/** On outside production; in production only when enabled by name and with accounts of its own (contract §2). */
export function requestedSampleProvider(
  given: ProviderVariables,
  production: boolean,
  cwd: string,
  faults: Faults,
): SampleProviderRequest | undefined {
  const enabled = given.has('enabled') ? isEnabled(SAMPLE_PROVIDER, given, faults) : !production;
  if (!enabled) return undefined;
  const { accounts, ...others } = options(given);
  const variable = providerVariable(SAMPLE_PROVIDER, 'accounts', given);
  if (production && accounts === undefined) {
    const file = 'a JSON file of accounts, as the built-in sample provider is enabled in production';
    faults.add(variable, 'was unset', file);
  }
  return {
    ...(accounts !== undefined && { accountsFile: { path: resolve(cwd, accounts), variable } }),
    provider: { ...ownCallback(SAMPLE_PROVIDER, given, faults), options: others },
  };
}

/** The built-in provider, from both sides: as this service serves it, and as it signs in with it. */
export function sampleProvider(
  { accountsFile, provider }: SampleProviderRequest,
  { host, port, publicUrl, secretKey }: Pick<Settings, 'host' | 'port' | 'publicUrl' | 'secretKey'>,
): { readonly served: SampleProviderSettings; readonly provider: ProviderSettings } {
  const path = `/providers/${SAMPLE_PROVIDER}`;
  const client = {
    clientId: 'latchkey',
    clientSecret: secretKey.derive('sample-provider').toString('hex'),
  };
  return {
    served: { ...client, ...(accountsFile !== undefined && { accountsFile }) },
    provider: {
      ...provider,
      ...client,
      name: SAMPLE_PROVIDER,
      adapter: 'contract',
      url: `${publicUrl}${path}`,
      internalUrl: `http://${reachable(host)}:${port}${path}`,
    },
  };
}

/** The listening address as the service itself can call it. */
function reachable(host: string): string {
  const anywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const address = anywhere[host] ?? host;
  return address.includes(':') ? `[${address}]` : address;
}
