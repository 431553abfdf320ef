import type { SettingErrors } from '../settings/invalid-settings.js';
import type { Environment } from '../settings/setting-row.js';

interface ProviderVariable {
  readonly variable: string;
  readonly text: string;
}

/** The values of one provider, by key (`client_id`). */
export type ProviderVariables = ReadonlyMap<string, ProviderVariable>;

const DOTTED = /^providers\.([a-z0-9][a-z0-9_-]{0,62})\.([a-z0-9_]+)$/;
const UPPER = /^PROVIDERS_([A-Z0-9]{1,63})_([A-Z0-9_]+)$/;
const NAMES =
  'providers.<name>.<key> with a name of a-z, 0-9, _ and - (at most 63) and a key of a-z, 0-9 and _';

/**
 * Sorts the variables of both spellings by provider and key (docs/settings.md#providers):
 * `providers.<name>.<key>` unchanged, and `PROVIDERS_<NAME>_<KEY>`, in lower case. The first underscore ends
 * NAME.
 */
export function providerVariables(env: Environment, errors: SettingErrors): Map<string, ProviderVariables> {
  const providers = new Map<string, Map<string, ProviderVariable>>();
  for (const [variable, text] of Object.entries(env)) {
    if (!text) continue;
    const [, name, key] =
      DOTTED.exec(variable) ?? UPPER.exec(variable)?.map((part) => part.toLowerCase()) ?? [];
    if (name === undefined || key === undefined) {
      // Not for upper case: container platforms set PROVIDERS_PORT for a service called `providers`.
      if (variable.startsWith('providers.'))
        errors.add(variable, 'is not the name of a provider setting', NAMES);
      continue;
    }
    const keys = providers.get(name) ?? new Map<string, ProviderVariable>();
    const other = keys.get(key);
    if (other && other.text !== text) {
      errors.add(other.variable, `and ${variable} have different values`, 'one of the two');
    }
    providers.set(name, keys.set(key, other ?? { variable, text }));
  }
  return providers;
}

export function isProviderVariable(variable: string): boolean {
  return DOTTED.test(variable) || UPPER.test(variable);
}

/** Returns the variable of another key of that provider, in the spelling of `variable`. */
export function siblingVariable(variable: string, key: string): string {
  const dotted = DOTTED.exec(variable)?.[1];
  if (dotted !== undefined) return `providers.${dotted}.${key}`;
  return `PROVIDERS_${UPPER.exec(variable)?.[1] ?? ''}_${key.toUpperCase()}`;
}
