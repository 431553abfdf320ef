import { resolve } from 'node:path';
import { parser } from '../settings/parsers.js';
import { isLoopbackUrl, parseUrl } from '../urls/urls.js';
import { suggestionFor } from '../settings/suggestion.js';
import { NOT_SHOWN, quote, type SettingErrors } from '../settings/invalid-settings.js';
import { read, type SettingRow } from '../settings/setting-row.js';
import type { ProviderSettings, SampleProviderSettings, Settings } from '../settings/settings.js';
import { mappedClaim } from './claim-map.js';
import { claimPaths } from './claim-paths.js';
import { readClientKey } from './client-key.js';
import { isOpenId } from './presets.js';
import { adapterKeys, ADAPTERS, providerKeys, requiredKeys } from './provider-keys.js';
import type { ProviderVariables } from './provider-variables.js';

/** The name of the built-in provider (spec §4.6); with a `url` it is a provider like any other. */
export const SAMPLE_PROVIDER = 'mock';

/** Of the demo accounts. */
const SAMPLE_CLAIMS = 'roles=claims.roles';

const ROWS = { ...providerKeys, ...adapterKeys };
const OWN_KEYS = new Set(Object.keys(providerKeys));

/** Kubernetes sets such variables for a service called `providers-<name>`. */
const OF_KUBERNETES = /^(?:service_(?:host|port)|port)(?:_|$)/;

export const HTTPS = 'https:// in production, unless the host is loopback';

type Rows = typeof ROWS;
type AdapterKey = keyof typeof adapterKeys;
type Value<Row> = Row extends SettingRow<infer T> ? T : never;

interface Surroundings {
  readonly production: boolean;
  /** Relative paths begin here. */
  readonly cwd: string;
  readonly secretFiles: Settings['secretFiles'];
}

interface Given {
  readonly name: string;
  readonly variables: ProviderVariables;
  readonly errors: SettingErrors;
}

export function enabledProviders(
  all: ReadonlyMap<string, ProviderVariables>,
  surroundings: Surroundings,
  errors: SettingErrors,
): Pick<Settings, 'providers' | 'sampleProvider'> {
  const providers = new Map<string, ProviderSettings>();
  for (const [name, variables] of all) {
    const given = { name, variables, errors };
    if (isBuiltIn(given) || !isEnabled(given)) continue;
    const provider = parseProvider(given, surroundings);
    if (provider) providers.set(name, provider);
  }
  const mock: Given = { name: SAMPLE_PROVIDER, variables: all.get(SAMPLE_PROVIDER) ?? new Map(), errors };
  // In production, the built-in provider must be enabled by name.
  const isOn = mock.variables.has('enabled') ? isEnabled(mock) : !surroundings.production;
  if (!isBuiltIn(mock) || !isOn) return { providers };
  return { providers, sampleProvider: parseSampleProvider(mock, surroundings) };
}

function isBuiltIn({ name, variables }: Given): boolean {
  return name === SAMPLE_PROVIDER && !variables.has('url');
}

function isEnabled(given: Given): boolean {
  return readKey(given, 'enabled') ?? given.variables.has(defaultsToOn(given.variables));
}

/** Returns the key that enables a provider: its `url`, or its `client_id` if the adapter needs no `url`. */
export function defaultsToOn(variables: ProviderVariables): 'url' | 'client_id' {
  const adapter = variables.get('adapter')?.text ?? providerKeys.adapter.default;
  return requiredKeys(adapter).includes('url') ? 'url' : 'client_id';
}

/** In production, the built-in provider needs accounts. */
function parseSampleProvider(given: Given, { production, cwd }: Surroundings): SampleProviderSettings {
  const { accounts, ...set } = options(given);
  const others = { claims: SAMPLE_CLAIMS, ...set };
  checkAdapterKeys(given, 'contract');
  checkMaps(given, others.claims);
  const variable = variableOf(given, 'accounts');
  if (production && accounts === undefined) {
    const use = 'a JSON file of accounts, because the built-in sample provider is enabled in production';
    addUnset(given, 'accounts', use);
  }
  return {
    ...(accounts !== undefined && { accountsFile: { path: resolve(cwd, accounts), variable } }),
    provider: { ...ofEveryProvider(given), options: others },
  };
}

/** @returns undefined if a value is missing or invalid */
function parseProvider(given: Given, surroundings: Surroundings): ProviderSettings | undefined {
  const { production, cwd, secretFiles } = surroundings;
  const { name, variables } = given;
  const adapter = readKey(given, 'adapter') ?? providerKeys.adapter.default;
  const url = readKey(given, 'url');
  const clientId = readKey(given, 'client_id');
  const clientKey = readKey(given, 'client_key');
  const method = methodOf(given, adapter);
  const usesSecret = method === 'client_secret';
  const clientSecret = usesSecret ? readKey(given, 'client_secret') : '';
  if (ADAPTERS.has(adapter)) checkAdapterKeys(given, adapter);
  checkMaps(given, variables.get('claims')?.text, ADAPTERS.has(adapter));
  const credentials = { client_secret: ['client_secret'], private_key_jwt: ['client_key'], none: [] }[method];
  for (const key of new Set([...requiredKeys(adapter), 'client_id', ...credentials])) {
    if (!variables.has(key)) addUnset(given, key, `a value, because ${name} is enabled`);
  }
  if (adapter === 'microsoft') requireTenants(given, url);
  if (adapter === 'apple') requireKeyId(given, clientKey);
  const shared = ofEveryProvider(given);
  if (production) refuseWeak(given, adapter, usesSecret ? clientSecret : undefined);
  if (clientId === undefined || clientSecret === undefined) return undefined;
  const file = secretFiles.get(variableOf(given, 'client_secret'));
  const accepted = production ? strongSecret : providerKeys.client_secret.parser;
  return {
    name,
    adapter: adapter.startsWith('./') ? resolve(cwd, adapter) : adapter,
    ...(!variables.has('adapter') && { isDefaultAdapter: true }),
    url,
    clientId,
    clientSecret,
    ...(file && usesSecret && { clientSecretFile: { ...file, parser: accepted } }),
    clientKey,
    clientKeyFile: secretFiles.get(variableOf(given, 'client_key')),
    ...shared,
    options: {
      ...(method === 'private_key_jwt' && adapter !== 'apple' && { token_endpoint_auth_method: method }),
      ...options(given),
    },
  };
}

/** How the client authenticates: a key without another setting replaces the secret. */
function methodOf({ variables }: Given, adapter: string): 'client_secret' | 'private_key_jwt' | 'none' {
  if (adapter === 'contract') return 'client_secret';
  const set = variables.get('token_endpoint_auth_method')?.text;
  if (set === 'none' || set === 'private_key_jwt') return set;
  if (adapter === 'apple') return 'private_key_jwt';
  return set === undefined && variables.has('client_key') ? 'private_key_jwt' : 'client_secret';
}

/** An issuer of many tenants signs for users of any company (docs/providers.md#not-supported). */
function requireTenants(given: Given, url: string | undefined): void {
  const isShared = url === undefined || /\/(?:common|organizations)(?:\/|$)/i.test(url);
  if (!isShared || given.variables.has('tenants')) return;
  addUnset(given, 'tenants', 'the ids of the tenants with users that may sign in, separated by commas');
}

function requireKeyId(given: Given, clientKey: string | undefined): void {
  if (clientKey === undefined || given.variables.has('client_key_id')) return;
  if (readClientKey(clientKey)?.header['kid'] !== undefined) return;
  addUnset(given, 'client_key_id', 'the id of the key at Apple, because client_key does not contain it');
}

function ofEveryProvider(given: Given): Omit<SampleProviderSettings['provider'], 'options'> {
  return {
    redirectUris: readKey(given, 'redirect_uris'),
    issuer: readKey(given, 'issuer'),
    authTime: readKey(given, 'auth_time'),
    mode: readKey(given, 'mode'),
    label: readKey(given, 'label'),
    variables: { adapter: variableOf(given, 'adapter'), issuer: variableOf(given, 'issuer') },
  };
}

/** Returns every key that the service does not read itself, unchanged. */
function options({ variables }: Given): Readonly<Record<string, string>> {
  const others = [...variables].filter(([key]) => !OWN_KEYS.has(key));
  return Object.fromEntries(others.map(([key, { text }]) => [key, text]));
}

function readKey<Key extends keyof Rows>(given: Given, key: Key): Value<Rows[Key]> | undefined {
  const row: SettingRow<unknown> = ROWS[key];
  const value = read(row, variableOf(given, key), given.variables.get(key)?.text, given.errors);
  return value as Value<Rows[Key]> | undefined;
}

/** Returns the variable of a key for messages; of an unset key, in the spelling of the provider's other keys. */
function variableOf({ name, variables }: Given, key: string): string {
  const own = variables.get(key);
  if (own) return own.variable;
  const dotted = [...variables.values()].some(({ variable }) => variable.startsWith('providers.'));
  return dotted ? `providers.${name}.${key}` : `PROVIDERS_${name}_${key}`.toUpperCase();
}

function addUnset(given: Given, key: string, use: string): void {
  given.errors.add(variableOf(given, key), 'is not set', use);
}

/** Checks the options of a built-in adapter. A key that is unknown, or of other adapters, is an error. */
function checkAdapterKeys(given: Given, adapter: string): void {
  const keys = keysOf(adapter);
  for (const key of keys) readKey(given, key);
  const names = [...OWN_KEYS, ...keys];
  for (const [key, { variable }] of given.variables) {
    if (names.includes(key) || mappedClaim(key) !== undefined || OF_KUBERNETES.test(key)) continue;
    if (given.name === SAMPLE_PROVIDER && key === 'accounts') continue;
    const isOfOthers = Object.hasOwn(ROWS, key);
    const meant = isOfOthers ? undefined : suggestionFor(key, names, 4);
    const problem = `is not a setting of the adapter ${adapter}${meant ? ` (did you mean ${meant}?)` : ''}`;
    const use = isOfOthers
      ? `${variableOf(given, 'adapter')} with an adapter that has it`
      : 'a key of docs/settings.md';
    given.errors.add(variable, problem, `${use}, or remove it`);
  }
}

/** Checks the keys `map_<claim>` (docs/settings.md#providers). @param isOurs false: others are for an integrator's adapter */
function checkMaps(given: Given, claims: string | undefined, isOurs = true): void {
  const names = claimPaths(claims).map(([name]) => name);
  for (const [key, { variable, text }] of given.variables) {
    const claim = mappedClaim(key);
    if (claim === undefined || (!isOurs && !names.includes(claim))) continue;
    read(ROWS['map_<claim>'], variable, text, given.errors);
    if (names.includes(claim)) continue;
    const meant = suggestionFor(claim, names, 4);
    const problem = `is about a claim that is not kept${meant ? ` (did you mean map_${meant}?)` : ''}`;
    given.errors.add(variable, problem, `${variableOf(given, 'claims')} with ${claim}=<path>, or remove it`);
  }
}

function keysOf(adapter: string): readonly AdapterKey[] {
  if (adapter === 'contract') return ['pkce', 'nonce', 'claims'];
  const ofOthers = isOpenId(adapter)
    ? ['authorize_url', 'token_url', 'userinfo_url']
    : ['nonce', 'par', 'response_mode', 'keep_id_token', 'tenants', 'team_id'];
  return (Object.keys(adapterKeys) as AdapterKey[]).filter((key) => !ofOthers.includes(key));
}

const isStrong = (secret: string): boolean => secret.length >= 16;

const strongSecret = parser('at least 16 characters in production', (secret) =>
  isStrong(secret) ? providerKeys.client_secret.parser.parse(secret) : undefined,
);

// What production refuses in the settings of a provider.
function refuseWeak(given: Given, adapter: string, clientSecret: string | undefined): void {
  const { variables, errors } = given;
  const named = isOpenId(adapter) ? ['issuer'] : []; // browsers are sent there
  for (const key of ['url', ...named, 'authorize_url', 'token_url', 'userinfo_url']) {
    const text = variables.get(key)?.text ?? '';
    if (/^http:/i.test(text) && parseUrl(text) && !isLoopbackUrl(text)) {
      errors.add(variableOf(given, key), 'is not secure', HTTPS, quote(text));
    }
  }
  if (clientSecret !== undefined && !isStrong(clientSecret)) {
    errors.add(variableOf(given, 'client_secret'), 'is too short', strongSecret.accepts, NOT_SHOWN);
  }
}
