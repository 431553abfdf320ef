import { resolve } from 'node:path';
import type { Faults } from '../settings/invalid-settings.js';
import {
  checkAdapterKeys,
  isEnabled,
  listing,
  options,
  ownCallback,
  parseProvider,
} from './parse-provider.js';
import type { ProviderSurroundings } from './parse-provider.js';
import { providerVariable } from './provider-variables.js';
import type { ProviderVariables } from './provider-variables.js';
import type { ProviderSettings, SampleProviderSettings, Settings } from '../settings/settings.js';

/** The name of the built-in provider (spec §4.6); with a `url` it is a provider like any other (contract §2). */
export const SAMPLE_PROVIDER = 'mock';

/** The enabled ones among the providers that were given, and the built-in one where it is enabled. */
export function enabledProviders(
  given: ReadonlyMap<string, ProviderVariables>,
  { production, cwd, secretFiles }: ProviderSurroundings,
  faults: Faults,
): Pick<Settings, 'providers' | 'sampleProvider'> {
  const providers = new Map<string, ProviderSettings>();
  for (const [name, variables] of given) {
    if (isBuiltIn(name, variables) || !isEnabled(name, variables, faults)) continue;
    const provider = parseProvider(name, variables, { production, cwd, secretFiles }, faults);
    if (provider) providers.set(name, provider);
  }
  const mock: ProviderVariables = given.get(SAMPLE_PROVIDER) ?? new Map();
  if (!isBuiltIn(SAMPLE_PROVIDER, mock) || !isSampleEnabled(mock, production, faults)) return { providers };
  return { providers, sampleProvider: parseSampleProvider(mock, production, cwd, faults) };
}

function isBuiltIn(name: string, given: ProviderVariables): boolean {
  return name === SAMPLE_PROVIDER && !given.has('url');
}

/** On outside production; in production only when enabled by name (contract §2). */
function isSampleEnabled(given: ProviderVariables, production: boolean, faults: Faults): boolean {
  return given.has('enabled') ? isEnabled(SAMPLE_PROVIDER, given, faults) : !production;
}

/** In production it needs accounts of its own (contract §2). */
function parseSampleProvider(
  given: ProviderVariables,
  production: boolean,
  cwd: string,
  faults: Faults,
): SampleProviderSettings {
  const { accounts, ...others } = options(given);
  checkAdapterKeys(SAMPLE_PROVIDER, 'contract', given, faults);
  const variable = providerVariable(SAMPLE_PROVIDER, 'accounts', given);
  if (production && accounts === undefined) {
    const file = 'a JSON file of accounts, because the built-in sample provider is enabled in production';
    faults.add(variable, 'was unset', file);
  }
  return {
    ...(accounts !== undefined && { accountsFile: { path: resolve(cwd, accounts), variable } }),
    provider: {
      ...ownCallback(SAMPLE_PROVIDER, given, faults),
      ...listing(SAMPLE_PROVIDER, given, faults),
      options: others,
    },
  };
}
