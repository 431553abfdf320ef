import { defaultsToOn } from './parse-provider.js';
import type { ProviderVariables } from './provider-variables.js';
import type { Values } from './read-values.js';
import { SAMPLE_PROVIDER } from './sample-provider.js';
import type { Environment, Setting } from './setting.js';
import { settingsTable } from './settings-table.js';

/** What is accepted, but might not be meant; one sentence each, for the log at start. No values, so no secrets. */
export function warningsFor(
  env: Environment,
  values: Values,
  providers: ReadonlyMap<string, ProviderVariables>,
  createdKeyFile: string | undefined,
): readonly string[] {
  const warnings: string[] = [];
  if (createdKeyFile !== undefined) {
    warnings.push(`SECRET_KEY is unset: a new key was generated into ${createdKeyFile}; keep that file.`);
  }
  if (values.redirectUris === undefined) {
    warnings.push('REDIRECT_URIS is unset: any absolute http(s) URL is accepted as a redirect URI.');
  }
  if (values.nodeEnv === 'production' && values.publicUrl === undefined) {
    warnings.push('PUBLIC_URL is unset: the service presents itself as localhost.');
  }
  for (const setting of Object.values<Setting<unknown>>(settingsTable)) {
    if (setting.planned && env[setting.name]) {
      warnings.push(`${setting.name} is checked, but not yet in effect in this version.`);
    }
  }
  return [...warnings, ...[...providers].flatMap(([name, given]) => providerWarning(name, given))];
}

function providerWarning(name: string, given: ProviderVariables): readonly string[] {
  const isClient = given.has('client_id') || given.has('client_secret');
  const missing = name === SAMPLE_PROVIDER ? 'url' : defaultsToOn(given);
  if (!isClient || given.has(missing) || given.has('enabled')) return [];
  const is = name === SAMPLE_PROVIDER ? 'the built-in sample provider, with credentials of its own' : 'off';
  return [`Provider ${name} has no ${missing}: it is ${is}.`];
}
