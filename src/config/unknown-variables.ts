import { lookAlike } from './look-alikes.js';
import { ADAPTERS } from './provider-adapters.js';
import { adapterKeys, providerKeys } from './provider-keys.js';
import { isProviderVariable, type ProviderVariables } from './provider-variables.js';
import type { Environment, Setting } from './setting-row.js';
import { settingsTable } from './settings-table.js';

const OF_THE_SERVICE = [...namesOf(settingsTable, '_FILE'), 'OLD_SECRET_KEY', 'OLD_SECRET_KEY_FILE'];
// Names of one word (HOST, PORT) are too common elsewhere to guess about.
const GUESSED = OF_THE_SERVICE.filter((name) => name.includes('_'));
const OF_A_PROVIDER = namesOf(providerKeys, '_file');
const OF_OUR_ADAPTERS = [...OF_A_PROVIDER, ...namesOf(adapterKeys, '_file'), 'accounts'];

/** `provider.acme.url`, `PROVIDER_ACME_CLIENT_ID`, `PROVIDERS_my-idp_CLIENT_ID`; other programs have similar names. */
const MISSPELLED_PROVIDER = /^provider(?:\.[^.]+\..+|s?[._].+[._]client_?(?:id|secret)(?:_file)?)$/i;

/**
 * A sentence for each variable that looks like a setting but is not one (contract §2), so that nobody believes that a limit
 * or a list is set when it is not. No values.
 */
export function unknownVariables(
  env: Environment,
  providers: ReadonlyMap<string, ProviderVariables>,
): readonly string[] {
  return [
    ...Object.keys(env).flatMap((variable) => (env[variable] ? ofTheService(variable) : [])),
    ...[...providers.values()].flatMap(ofAProvider),
  ];
}

function ofTheService(variable: string): readonly string[] {
  if (isProviderVariable(variable) || OF_THE_SERVICE.includes(variable)) return [];
  const meant = lookAlike(variable, GUESSED);
  if (meant !== undefined) return [sentence(variable, meant)];
  return MISSPELLED_PROVIDER.test(variable) ? [sentence(variable, 'providers.<name>.<key>')] : [];
}

function ofAProvider(given: ProviderVariables): readonly string[] {
  // An integrator's adapter has keys of its own, which may look like those of our adapters.
  const isOurs = ADAPTERS.has(given.get('adapter')?.text ?? providerKeys.adapter.default);
  const known = isOurs ? OF_OUR_ADAPTERS : OF_A_PROVIDER;
  const isProvider = [...given.keys()].some((key) => OF_A_PROVIDER.includes(key));
  return [...given].flatMap(([key, { variable }]) => {
    const meant = lookAlike(key, known);
    if (meant !== undefined) return [sentence(variable, `the key ${meant}`)];
    // The first underscore ends a name: PROVIDERS_MY_IDP_CLIENT_ID is the key `idp_client_id` of a provider `my`.
    if (isProvider || !/_client_(?:id|secret)$/.test(key)) return [];
    return [sentence(variable, 'providers.<name>.<key>, because the name has an underscore')];
  });
}

function sentence(variable: string, meant: string): string {
  return `${variable} is not a setting of the service: perhaps ${meant} is meant.`;
}

/** The names of a table, and those of the files that its secrets may come from. */
function namesOf(table: Readonly<Record<string, Setting<unknown>>>, suffix: string): readonly string[] {
  return Object.values(table).flatMap(({ name, secret }) => (secret ? [name, `${name}${suffix}`] : [name]));
}
