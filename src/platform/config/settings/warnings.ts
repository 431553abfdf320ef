import { isIPv6 } from 'node:net';
import { isQuoted, suggestionFor } from './invalid-settings.js';
import { isThisMachine } from '../urls/urls.js';
import { defaultsToOn } from '../providers/enabled-providers.js';
import { isOpenId, isPublic } from '../providers/presets.js';
import { ADAPTERS, providerKeys } from '../providers/provider-keys.js';
import {
  isProviderVariable,
  siblingVariable,
  type ProviderVariables,
} from '../providers/provider-variables.js';
import type { Environment } from './setting-row.js';
import type { BuiltInProvider, SettingTables } from './settings-part.js';
import { settingsTable } from './settings-table.js';
import type { Values } from './settings.js';

type Providers = ReadonlyMap<string, ProviderVariables>;

/** `provider.acme.url`, `PROVIDER_ACME_CLIENT_ID`, `PROVIDERS_my-idp_CLIENT_ID`; others have such names. */
const MISSPELLED_PROVIDER = /^provider(?:\.[^.]+\..+|s?[._].+[._]client_?(?:id|secret)(?:_file)?)$/i;

/** Returns a sentence if a variable resembles a setting and is none; without its value. */
function unknownOfService(variable: string, { variables }: SettingTables): readonly string[] {
  if (isProviderVariable(variable) || variables.includes(variable)) return [];
  // Names of one word (HOST, PORT) are common elsewhere, so there is no suggestion for them.
  const suggestion = suggestionFor(
    variable,
    variables.filter((name) => name.includes('_')),
  );
  if (suggestion !== undefined) return [sentence(variable, suggestion)];
  return MISSPELLED_PROVIDER.test(variable) ? [sentence(variable, 'providers.<name>.<key>')] : [];
}

function unknownOfProvider(
  variables: ProviderVariables,
  { ownKeys, providerKeys: all, providerSecrets }: SettingTables,
  own: BuiltInProvider | undefined,
): readonly string[] {
  const names = [...Object.keys(ownKeys), ...providerSecrets.map((key) => `${key}_file`)];
  // A custom adapter may have keys that resemble keys of the built-in adapters.
  const isBuiltIn = ADAPTERS.has(variables.get('adapter')?.text ?? providerKeys.adapter.default);
  const known = isBuiltIn ? [...names, ...Object.keys({ ...all, ...own?.keys })] : names;
  const isProvider = [...variables.keys()].some((key) => names.includes(key));
  return [...variables].flatMap(([key, { variable }]) => {
    const suggestion = suggestionFor(key, known);
    if (suggestion !== undefined) return [sentence(variable, `the key ${suggestion}`)];
    // The first underscore ends a name: PROVIDERS_MY_IDP_CLIENT_ID is the key `idp_client_id` of `my`.
    if (isProvider || !/_client_(?:id|secret)$/.test(key)) return [];
    return [sentence(variable, 'providers.<name>.<key>, because the name has an underscore')];
  });
}

function sentence(variable: string, suggestion: string): string {
  return `${variable} is not a setting of the service: perhaps ${suggestion} is meant.`;
}

/** Returns a sentence for each valid setting that may be a mistake; without values, so without secrets. */
export function warningsFor(
  env: Environment,
  values: Values,
  providers: Providers,
  tables: SettingTables,
): readonly string[] {
  const warnings: string[] = [];
  if (values.redirectUris === undefined) {
    warnings.push('REDIRECT_URIS is not set. Any absolute http(s) URL is accepted as a redirect URI.');
  }
  const { nodeEnv, publicUrl, host } = values;
  const isAtLocalhost = isThisMachine(`http://${isIPv6(host) ? `[${host}]` : host}`);
  if (publicUrl === undefined && (nodeEnv === 'production' || !isAtLocalhost)) {
    warnings.push('PUBLIC_URL is not set. The service presents itself as localhost.');
  }
  for (const [name, variables] of providers) {
    warnings.push(...ofProvider(name, variables, tables));
  }
  return [
    ...warnings,
    ...withAsterisk(env, providers),
    ...quoted(env, tables),
    ...Object.keys(env).flatMap((variable) => (env[variable] ? unknownOfService(variable, tables) : [])),
    ...[...providers].flatMap(([name, of]) => unknownOfProvider(of, tables, tables.builtIn(name))),
  ];
}

/** Keys that a built-in provider has, too. */
const KEYS_OF_BUILT_IN = ['enabled', 'redirect_uris', 'issuer', 'mode', 'label', 'pkce'];

function ofProvider(name: string, variables: ProviderVariables, tables: SettingTables): readonly string[] {
  const warnings: string[] = [];
  const isOwn = tables.builtIn(name) !== undefined;
  const enabling = isOwn ? 'url' : defaultsToOn(variables);
  const keys = Object.keys(tables.providerKeys);
  const hasKeys = keys.some((key) => variables.has(key) && !(isOwn && KEYS_OF_BUILT_IN.includes(key)));
  if (hasKeys && !variables.has(enabling) && !variables.has('enabled')) {
    const is = isOwn ? 'the built-in provider, with credentials of its own' : 'off';
    warnings.push(`Provider ${name} has no ${enabling}: it is ${is}.`);
  }
  const [adapter, pkce, nonce] = [variables.get('adapter'), variables.get('pkce'), variables.get('nonce')];
  const isOff = pkce?.text === 'off' && nonce?.text === 'off' && variables.get('enabled')?.text !== 'false';
  // Without both, a stolen code signs the thief in (RFC 9700 §4.5).
  if (isOff && isOpenId(adapter?.text ?? '')) {
    warnings.push(
      `Provider ${name} has neither pkce nor nonce, so a stolen code of it signs the thief in as its user; set ${pkce.variable} or ${nonce.variable} to on.`,
    );
  }
  const isOn =
    variables.get('enabled')?.text !== 'false' && (variables.has(enabling) || variables.has('enabled'));
  const addresses = { url: variables.get('url')?.text, authorizeUrl: variables.get('authorize_url')?.text };
  if (isOn && adapter && !variables.has('allow') && isPublic(adapter.text, addresses)) {
    warnings.push(
      `Provider ${name} signs in everyone in the world who has an account there; set ${siblingVariable(adapter.variable, 'allow')} to a rule, or to * if that is meant.`,
    );
  }
  return warnings;
}

/** `.env` drops quotation marks; `docker --env-file` keeps them. */
function quoted(env: Environment, { variables }: SettingTables): readonly string[] {
  return Object.keys(env)
    .filter((variable) => isQuoted(env[variable] ?? ''))
    .filter((variable) => variables.includes(variable) || isProviderVariable(variable))
    .map(
      (variable) =>
        `${variable} begins and ends with a quotation mark, which is part of the value. If it is not meant, remove both marks.`,
    );
}

function withAsterisk(env: Environment, providers: Providers): readonly string[] {
  const { name } = settingsTable.redirectUris;
  const own = [...providers.values()].map((variables) => variables.get('redirect_uris'));
  return [{ variable: name, text: env[name] }, ...own].flatMap((list) =>
    list?.text?.includes('*')
      ? [`${list.variable} has an entry with *: entries are compared as they are, so * stands for itself.`]
      : [],
  );
}
