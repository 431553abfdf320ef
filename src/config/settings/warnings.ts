import { isIPv6 } from 'node:net';
import { isQuoted } from './invalid-settings.js';
import { isThisMachine } from '../urls/urls.js';
import { defaultsToOn } from '../providers/parse-provider.js';
import { SAMPLE_PROVIDER } from '../providers/enabled-providers.js';
import { adapterKeys, providerKeys, isOpenId, ADAPTERS } from '../providers/provider-keys.js';
import { isProviderVariable, type ProviderVariables } from '../providers/provider-variables.js';
import type { Environment, Setting } from './setting-row.js';
import { settingsTable } from './settings-table.js';
import type { Values } from './settings.js';
import { traceWarnings } from './traces.js';

/** Longer names are not compared: each would be compared with dozens of others, and none of ours is nearly as long. */
const LONGEST = 100;
/** Shorter names are one slip away from too many other words. */
const SHORTEST_SLIP = 8;

/**
 * The one of `known` that was probably meant by a name that is not among them, or `undefined`: the same letters in another
 * case, without underscores, or with an S more or less at the end of a word (`CORS_ORIGIN`); a long one with one typing
 * error (`REDIRCT_URIS`); or one with `_FILE`, which only secrets have.
 */
function lookAlike(name: string, known: readonly string[]): string | undefined {
  if (name.length > LONGEST || known.includes(name)) return undefined;
  const base = name.replace(/_file$/i, '');
  return known.find(
    (other) =>
      base === other ||
      letters(name) === letters(other) ||
      (other.length >= SHORTEST_SLIP && isOneSlip(name, other)),
  );
}

function letters(name: string): string {
  const words = name.toUpperCase().split(/[_.-]+/);
  return words.map((word) => word.replace(/S$/, '')).join('');
}

/** One letter left out, added or mistaken, or two next to each other swapped. */
function isOneSlip(one: string, other: string): boolean {
  let start = 0;
  while (start < one.length && one[start] === other[start]) start++;
  const rest = Math.min(one.length, other.length) - start;
  let end = 0;
  while (end < rest && one.at(-1 - end) === other.at(-1 - end)) end++;
  const [a, b] = [one, other].map((text) => text.slice(start, text.length - end)) as [string, string];
  return (a.length <= 1 && b.length <= 1) || (a.length === 2 && b.length === 2 && a === `${b[1]}${b[0]}`);
}

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
function unknownVariables(
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

/** Settings that are accepted, but may be mistakes; one sentence each, for the log at start. No values, so no secrets. */
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
  if (values.publicUrl === undefined && (values.nodeEnv === 'production' || !isAtLocalhost(values.host))) {
    warnings.push('PUBLIC_URL is unset: the service presents itself as localhost.');
  }
  return [
    ...warnings,
    ...[...providers].flatMap(([name, given]) => [
      ...providerWarning(name, given),
      ...injectionWarning(name, given),
    ]),
    ...withAsterisk(env, providers).map(
      (variable) =>
        `${variable} has an entry with *: entries are compared as they are, so * stands for itself.`,
    ),
    ...quotedSettings(env),
    ...unknownVariables(env, providers),
    ...traceWarnings(env),
  ];
}

/** Whether a service that listens at `host` is found at `localhost`. */
function isAtLocalhost(host: string): boolean {
  return isThisMachine(`http://${isIPv6(host) ? `[${host}]` : host}`);
}

const KEYS = [...Object.values(providerKeys), ...Object.values(adapterKeys)].map(({ name }) => name);
/** The keys that the built-in sample provider uses. */
const KEYS_OF_SAMPLE = ['enabled', 'redirect_uris', 'issuer', 'mode', 'label', 'pkce'];

/** Warns where something is given for a provider, but not the key that would enable it. */
function providerWarning(name: string, given: ProviderVariables): readonly string[] {
  const isSample = name === SAMPLE_PROVIDER;
  const missing = isSample ? 'url' : defaultsToOn(given);
  if (given.has(missing) || given.has('enabled')) return [];
  if (!KEYS.some((key) => given.has(key) && !(isSample && KEYS_OF_SAMPLE.includes(key)))) return [];
  const is = isSample ? 'the built-in sample provider, with credentials of its own' : 'off';
  return [`Provider ${name} has no ${missing}: it is ${is}.`];
}

/** Without both, a code that was stolen elsewhere signs its thief in (RFC 9700 §4.5). */
function injectionWarning(name: string, given: ProviderVariables): readonly string[] {
  const [adapter, enabled, pkce, nonce] = ['adapter', 'enabled', 'pkce', 'nonce'].map((key) =>
    given.get(key),
  );
  const isOff = pkce?.text === 'off' && nonce?.text === 'off';
  if (!isOff || !isOpenId(adapter?.text ?? '') || enabled?.text === 'false') return [];
  return [
    `Provider ${name} has neither pkce nor nonce, so a stolen code of it signs the thief in as its user; set ${pkce.variable} or ${nonce.variable} to on.`,
  ];
}

/** `.env` takes quotation marks off; `docker --env-file` and other lists of variables keep them. */
function quotedSettings(env: Environment): readonly string[] {
  const names = new Set<string>(Object.values(settingsTable).map(({ name }) => name));
  return Object.entries(env).flatMap(([variable, text = '']) =>
    isQuoted(text) && (names.has(variable) || isProviderVariable(variable))
      ? [
          `${variable} begins and ends with a quotation mark, which is part of the value. If it is not meant, remove both marks.`,
        ]
      : [],
  );
}

/** The allow-lists of redirect URIs that were written as patterns. */
function withAsterisk(
  env: Environment,
  providers: ReadonlyMap<string, ProviderVariables>,
): readonly string[] {
  const { name } = settingsTable.redirectUris;
  const own = [...providers.values()].map((given) => given.get(providerKeys.redirectUris.name));
  return [{ variable: name, text: env[name] }, ...own].flatMap((list) =>
    list?.text?.includes('*') ? [list.variable] : [],
  );
}
