import type { Faults } from './invalid-settings.js';
import { isEnabled, parseProvider } from './parse-provider.js';
import type { ProviderVariables } from './provider-variables.js';
import { requestedSampleProvider, SAMPLE_PROVIDER } from './sample-provider.js';
import type { SampleProviderRequest } from './sample-provider.js';
import type { ProviderSettings } from './settings.js';

/** The providers to sign in with, by name, and the built-in one where it is asked for. */
export interface ParsedProviders {
  readonly external: ReadonlyMap<string, ProviderSettings>;
  readonly sample: SampleProviderRequest | undefined;
}

/** Every enabled provider of those that something was given for. */
export function parseProviders(
  given: ReadonlyMap<string, ProviderVariables>,
  production: boolean,
  cwd: string,
  faults: Faults,
): ParsedProviders {
  const external = new Map<string, ProviderSettings>();
  for (const [name, variables] of given) {
    if (isBuiltIn(name, variables) || !isEnabled(name, variables, faults)) continue;
    const provider = parseProvider(name, variables, { production, cwd }, faults);
    if (provider) external.set(name, provider);
  }
  const mock: ProviderVariables = given.get(SAMPLE_PROVIDER) ?? new Map();
  const builtIn = isBuiltIn(SAMPLE_PROVIDER, mock);
  return { external, sample: builtIn ? requestedSampleProvider(mock, production, cwd, faults) : undefined };
}

/** contract §2: with its `url` set, `mock` is an ordinary provider at that address. */
function isBuiltIn(name: string, given: ProviderVariables): boolean {
  return name === SAMPLE_PROVIDER && !given.has('url');
}
