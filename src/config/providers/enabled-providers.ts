import { resolve } from 'node:path';
import { parser } from '../settings/parsers.js';
import { isLoopbackUrl, parseUrl } from '../urls/urls.js';
import { suggestionFor } from '../settings/suggestion.js';
import { NOT_SHOWN, quote, type SettingErrors } from '../settings/invalid-settings.js';
import { read, type Setting } from '../settings/setting-row.js';
import type { ProviderSettings, SampleProviderSettings, SecretFile, Settings } from '../settings/settings.js';
import { readClientKey } from './client-key.js';
import { adapterKeys, ADAPTERS, isOpenId, providerKeys, requiredKeys } from './provider-keys.js';
import { providerVariable, type ProviderVariables } from './provider-variables.js';

/** The name of the built-in provider (spec §4.6); with a `url` it is a provider like any other (contract §2). */
export const SAMPLE_PROVIDER = 'mock';

const OWN_KEYS = new Set<string>(Object.values(providerKeys).map((key) => key.name));
const KNOWN_KEYS: readonly string[] = [...OWN_KEYS, ...Object.values(adapterKeys).map((key) => key.name)];

/** Kubernetes sets such variables for a service called `providers-<name>`. */
const OF_KUBERNETES = /^(?:service_(?:host|port)|port)(?:_|$)/;

interface Surroundings {
  readonly production: boolean;
  /** Relative paths begin here. */
  readonly cwd: string;
  readonly secretFiles: Settings['secretFiles'];
}

/** What the environment holds for one provider. */
interface Given {
  readonly name: string;
  readonly variables: ProviderVariables;
  readonly errors: SettingErrors;
}

/** Parses the enabled providers, and the built-in one if it is enabled. */
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
  if (!isBuiltIn(mock) || !isSampleEnabled(mock, surroundings.production)) return { providers };
  return { providers, sampleProvider: parseSampleProvider(mock, surroundings) };
}

function isBuiltIn({ name, variables }: Given): boolean {
  return name === SAMPLE_PROVIDER && !variables.has('url');
}

function isEnabled(given: Given): boolean {
  return readKey(given, providerKeys.enabled) ?? given.variables.has(defaultsToOn(given.variables));
}

/** Returns the key that enables a provider: its `url`, or its `client_id` if the adapter needs no `url` (contract §2). */
export function defaultsToOn(variables: ProviderVariables): 'url' | 'client_id' {
  const adapter = variables.get('adapter')?.text ?? providerKeys.adapter.default;
  return requiredKeys(adapter).includes('url') ? 'url' : 'client_id';
}

/** In production, the built-in provider must be enabled by name (contract §2). */
function isSampleEnabled(given: Given, production: boolean): boolean {
  return given.variables.has('enabled') ? isEnabled(given) : !production;
}

/** In production, the built-in provider needs accounts (contract §2). */
function parseSampleProvider(given: Given, { production, cwd }: Surroundings): SampleProviderSettings {
  const { accounts, ...others } = options(given);
  checkAdapterKeys(given, 'contract');
  const variable = providerVariable(given.name, 'accounts', given.variables);
  if (production && accounts === undefined) {
    const file = 'a JSON file of accounts, because the built-in sample provider is enabled in production';
    given.errors.add(variable, 'is not set', file);
  }
  return {
    ...(accounts !== undefined && { accountsFile: { path: resolve(cwd, accounts), variable } }),
    provider: { ...ofEveryProvider(given), options: others },
  };
}

/** @returns undefined if a value is missing or invalid */
function parseProvider(
  given: Given,
  { production, cwd, secretFiles }: Surroundings,
): ProviderSettings | undefined {
  const { name, variables, errors } = given;
  const adapter = readKey(given, providerKeys.adapter) ?? providerKeys.adapter.default;
  const url = readKey(given, providerKeys.url);
  const clientId = readKey(given, providerKeys.clientId);
  const clientKey = readKey(given, providerKeys.clientKey);
  const method = authenticationOf(given, adapter);
  const usesSecret = method === 'client_secret';
  const clientSecret = usesSecret ? readKey(given, providerKeys.clientSecret) : '';
  if (ADAPTERS.has(adapter)) checkAdapterKeys(given, adapter);
  const credentials = { client_secret: ['client_secret'], private_key_jwt: ['client_key'], none: [] }[method];
  for (const key of new Set([...requiredKeys(adapter), 'client_id', ...credentials])) {
    if (!variables.has(key))
      errors.add(providerVariable(name, key, variables), 'is not set', `a value, because ${name} is enabled`);
  }
  if (adapter === 'microsoft') requireTenants(given, url);
  if (adapter === 'apple') requireKeyId(given, clientKey);
  const shared = ofEveryProvider(given);
  if (production) refuseWeak(given, usesSecret ? clientSecret : undefined);
  if (clientId === undefined || clientSecret === undefined) return undefined;
  const fileOf = (key: string): SecretFile | undefined =>
    secretFiles.get(providerVariable(name, key, variables));
  const [file, keyFile] = [fileOf('client_secret'), fileOf('client_key')];
  const accepted = production ? strongSecret : providerKeys.clientSecret.parser;
  return {
    name,
    adapter: adapter.startsWith('./') ? resolve(cwd, adapter) : adapter,
    ...(!variables.has('adapter') && { isDefaultAdapter: true }),
    ...(url !== undefined && { url }),
    clientId,
    clientSecret,
    ...(file && usesSecret && { clientSecretFile: { ...file, parser: accepted } }),
    ...(clientKey !== undefined && { clientKey }),
    ...(keyFile && { clientKeyFile: { ...keyFile, parser: providerKeys.clientKey.parser } }),
    ...shared,
    options: {
      ...(method === 'private_key_jwt' && adapter !== 'apple' && { token_endpoint_auth_method: method }),
      ...options(given),
    },
  };
}

/** How the client authenticates (contract §2): a key without another setting replaces the secret. */
function authenticationOf(
  { variables }: Given,
  adapter: string,
): 'client_secret' | 'private_key_jwt' | 'none' {
  if (adapter === 'contract') return 'client_secret';
  const set = variables.get('token_endpoint_auth_method')?.text;
  if (set === 'none' || set === 'private_key_jwt') return set;
  if (adapter === 'apple') return 'private_key_jwt';
  return set === undefined && variables.has('client_key') ? 'private_key_jwt' : 'client_secret';
}

/** An issuer of many tenants signs for users of any company (contract §6). */
function requireTenants({ name, variables, errors }: Given, url: string | undefined): void {
  const isShared = url === undefined || /\/(?:common|organizations)(?:\/|$)/i.test(url);
  if (!isShared || variables.has('tenants')) return;
  const use = 'the ids of the tenants with users that may sign in, separated by commas';
  errors.add(providerVariable(name, 'tenants', variables), 'is not set', use);
}

function requireKeyId({ name, variables, errors }: Given, clientKey: string | undefined): void {
  if (clientKey === undefined || variables.has('client_key_id')) return;
  if (readClientKey(clientKey)?.header['kid'] !== undefined) return;
  errors.add(
    providerVariable(name, 'client_key_id', variables),
    'is not set',
    'the id of the key at Apple, because client_key does not contain it',
  );
}

function ofEveryProvider(given: Given): Omit<SampleProviderSettings['provider'], 'options'> {
  const redirectUris = readKey(given, providerKeys.redirectUris);
  const issuer = readKey(given, providerKeys.issuer);
  const authTime = readKey(given, providerKeys.authTime);
  const mode = readKey(given, providerKeys.mode);
  const label = readKey(given, providerKeys.label);
  return {
    ...(redirectUris && { redirectUris }),
    ...(issuer !== undefined && { issuer }),
    ...(authTime !== undefined && { authTime }),
    ...(mode !== undefined && { mode }),
    ...(label !== undefined && { label }),
    variables: {
      adapter: providerVariable(given.name, 'adapter', given.variables),
      issuer: providerVariable(given.name, 'issuer', given.variables),
    },
  };
}

/** Returns every key that the service does not read itself, unchanged. */
function options({ variables }: Given): Readonly<Record<string, string>> {
  const others = [...variables].filter(([key]) => !OWN_KEYS.has(key));
  return Object.fromEntries(others.map(([key, { text }]) => [key, text]));
}

function readKey<T>({ name, variables, errors }: Given, key: Setting<T>): T | undefined {
  return read(key, providerVariable(name, key.name, variables), variables.get(key.name)?.text, errors);
}

/** Checks the options of a built-in adapter. A key that is unknown, or of other adapters, is an error (contract §2). */
function checkAdapterKeys(given: Given, adapter: string): void {
  const keys = keysOf(adapter);
  for (const key of keys) readKey(given, key);
  const names = [...OWN_KEYS, ...keys.map((key) => key.name)];
  for (const [key, { variable }] of given.variables) {
    if (names.includes(key) || OF_KUBERNETES.test(key)) continue;
    if (given.name === SAMPLE_PROVIDER && key === 'accounts') continue;
    const isOfOthers = KNOWN_KEYS.includes(key);
    const meant = isOfOthers ? undefined : suggestionFor(key, names, 4);
    const problem = `is not a setting of the adapter ${adapter}${meant ? ` (did you mean ${meant}?)` : ''}`;
    const use = isOfOthers
      ? `${providerVariable(given.name, 'adapter', given.variables)} with an adapter that has it`
      : 'a key of docs/settings.md';
    given.errors.add(variable, problem, `${use}, or remove it`);
  }
}

/** Options of a built-in adapter. */
function keysOf(adapter: string): readonly Setting<unknown>[] {
  const { pkce, nonce, claims, authorizeUrl, tokenUrl, userinfoUrl } = adapterKeys;
  const { par, responseMode, keepIdToken, tenants, teamId } = adapterKeys;
  if (adapter === 'contract') return [pkce, nonce, claims];
  const ofOthers: readonly Setting<unknown>[] = isOpenId(adapter)
    ? [authorizeUrl, tokenUrl, userinfoUrl]
    : [nonce, par, responseMode, keepIdToken, tenants, teamId];
  return Object.values(adapterKeys).filter((key) => !ofOthers.includes(key));
}

const isStrong = (secret: string): boolean => secret.length >= 16;

const strongSecret = parser('at least 16 characters in production', (secret) =>
  isStrong(secret) ? providerKeys.clientSecret.parser.parse(secret) : undefined,
);

// contract §2: what production refuses in the settings of a provider
function refuseWeak({ variables, errors }: Given, clientSecret: string | undefined): void {
  for (const key of ['url', 'authorize_url', 'token_url', 'userinfo_url']) {
    const { variable, text } = variables.get(key) ?? {};
    if (variable !== undefined && text !== undefined && isInsecure(text)) {
      errors.add(
        variable,
        'is not secure',
        'https:// in production, unless the host is loopback',
        quote(text),
      );
    }
  }
  if (clientSecret !== undefined && !isStrong(clientSecret)) {
    const { variable = 'client_secret' } = variables.get('client_secret') ?? {};
    errors.add(variable, 'is too short', strongSecret.accepts, NOT_SHOWN);
  }
}

function isInsecure(url: string): boolean {
  return /^http:/i.test(url) && parseUrl(url) !== undefined && !isLoopbackUrl(url);
}
