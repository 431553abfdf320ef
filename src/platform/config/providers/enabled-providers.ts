import { resolve } from 'node:path';
import { parser } from '../settings/parsers.js';
import { domainKey } from '../urls/email-address.js';
import { isLoopbackUrl, parseUrl } from '../urls/urls.js';
import { suggestionFor, NOT_SHOWN, quote, type SettingErrors } from '../settings/invalid-settings.js';
import { read, type SettingRow } from '../settings/setting-row.js';
import type { RecheckSettings } from './provider-settings.js';
import type { ProviderSettings, SampleProviderSettings, Settings } from '../settings/settings.js';
import type { ScimSettings, SignalsSettings } from './provider-settings.js';
import { mappedClaim } from './claim-map.js';
import { claimPaths } from './claim-paths.js';
import { readClientKey } from './client-key.js';
import { isOpenId } from './presets.js';
import {
  adapterKeys,
  ADAPTERS,
  providerKeys,
  RECHECK_GRACE,
  RECHECK_RATE,
  requiredKeys,
} from './provider-keys.js';
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

interface Source {
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
  const enabled: Source[] = [];
  for (const [name, variables] of all) {
    const source = { name, variables, errors };
    if (isBuiltIn(source) || !isEnabled(source)) continue;
    enabled.push(source);
    const provider = parseProvider(source, surroundings);
    if (provider) providers.set(name, provider);
  }
  const mock: Source = { name: SAMPLE_PROVIDER, variables: all.get(SAMPLE_PROVIDER) ?? new Map(), errors };
  // In production, the built-in provider must be enabled by name.
  const isOn = mock.variables.has('enabled') ? isEnabled(mock) : !surroundings.production;
  const hasSample = isBuiltIn(mock) && isOn;
  refuseSharedScimTokens(hasSample ? [...enabled, mock] : enabled);
  if (!hasSample) return { providers };
  return { providers, sampleProvider: parseSampleProvider(mock, surroundings) };
}

function isBuiltIn({ name, variables }: Source): boolean {
  return name === SAMPLE_PROVIDER && !variables.has('url');
}

function isEnabled(source: Source): boolean {
  return readKey(source, 'enabled') ?? source.variables.has(defaultsToOn(source.variables));
}

/** Returns the key that enables a provider: its `url`, or its `client_id` if the adapter needs no `url`. */
export function defaultsToOn(variables: ProviderVariables): 'url' | 'client_id' {
  const adapter = variables.get('adapter')?.text ?? providerKeys.adapter.default;
  return requiredKeys(adapter).includes('url') ? 'url' : 'client_id';
}

/** In production, the built-in provider needs accounts. */
function parseSampleProvider(source: Source, { production, cwd }: Surroundings): SampleProviderSettings {
  const { accounts, ...set } = options(source);
  const others = { claims: SAMPLE_CLAIMS, ...set };
  checkAdapterKeys(source, 'contract');
  checkRecheck(source, 'contract');
  checkSignals(source, 'contract');
  checkMaps(source, others.claims);
  checkAllow(source, others.claims);
  const variable = variableOf(source, 'accounts');
  if (production && accounts === undefined) {
    const use = 'a JSON file of accounts, because the built-in sample provider is enabled in production';
    addUnset(source, 'accounts', use);
  }
  return {
    ...(accounts !== undefined && { accountsFile: { path: resolve(cwd, accounts), variable } }),
    provider: { ...ofEveryProvider(source), options: others },
  };
}

/** @returns undefined if a value is missing or invalid */
function parseProvider(source: Source, surroundings: Surroundings): ProviderSettings | undefined {
  const { production, cwd, secretFiles } = surroundings;
  const { name, variables } = source;
  const adapter = readKey(source, 'adapter') ?? providerKeys.adapter.default;
  const url = readKey(source, 'url');
  const clientId = readKey(source, 'client_id');
  const clientKey = readKey(source, 'client_key');
  const method = methodOf(source, adapter);
  const usesSecret = method === 'client_secret';
  const clientSecret = usesSecret ? readKey(source, 'client_secret') : '';
  if (ADAPTERS.has(adapter)) checkAdapterKeys(source, adapter);
  checkRecheck(source, adapter);
  checkSignals(source, adapter);
  checkMaps(source, variables.get('claims')?.text, ADAPTERS.has(adapter));
  checkAllow(source, variables.get('claims')?.text);
  const credentials = { client_secret: ['client_secret'], private_key_jwt: ['client_key'], none: [] }[method];
  for (const key of new Set([...requiredKeys(adapter), 'client_id', ...credentials])) {
    if (!variables.has(key)) addUnset(source, key, `a value, because ${name} is enabled`);
  }
  if (adapter === 'microsoft') requireTenants(source, url);
  if (adapter === 'apple') requireKeyId(source, clientKey);
  const shared = ofEveryProvider(source);
  const recheck = recheckOf(source);
  if (production) refuseWeak(source, adapter, usesSecret ? clientSecret : undefined);
  if (clientId === undefined || clientSecret === undefined) return undefined;
  const file = secretFiles.get(variableOf(source, 'client_secret'));
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
    clientKeyFile: secretFiles.get(variableOf(source, 'client_key')),
    ...shared,
    recheck,
    offline: recheck && true,
    signals: signalsOf(source, adapter, url),
    options: {
      ...(method === 'private_key_jwt' && adapter !== 'apple' && { token_endpoint_auth_method: method }),
      ...options(source),
    },
  };
}

/** How the client authenticates: a key without another setting replaces the secret. */
function methodOf({ variables }: Source, adapter: string): 'client_secret' | 'private_key_jwt' | 'none' {
  if (adapter === 'contract') return 'client_secret';
  const set = variables.get('token_endpoint_auth_method')?.text;
  if (set === 'none' || set === 'private_key_jwt') return set;
  if (adapter === 'apple') return 'private_key_jwt';
  return set === undefined && variables.has('client_key') ? 'private_key_jwt' : 'client_secret';
}

/** An issuer of many tenants signs for users of any company (docs/providers.md#not-supported). */
function requireTenants(source: Source, url: string | undefined): void {
  const isShared = url === undefined || /\/(?:common|organizations)(?:\/|$)/i.test(url);
  if (!isShared || source.variables.has('tenants')) return;
  addUnset(source, 'tenants', 'the ids of the tenants with users that may sign in, separated by commas');
}

function requireKeyId(source: Source, clientKey: string | undefined): void {
  if (clientKey === undefined || source.variables.has('client_key_id')) return;
  if (readClientKey(clientKey)?.header['kid'] !== undefined) return;
  addUnset(source, 'client_key_id', 'the id of the key at Apple, because client_key does not contain it');
}

function ofEveryProvider(source: Source): Omit<SampleProviderSettings['provider'], 'options'> {
  const directoryClaim = directoryClaimOf(source);
  return {
    redirectUris: readKey(source, 'redirect_uris'),
    issuer: readKey(source, 'issuer'),
    authTime: readKey(source, 'auth_time'),
    mode: readKey(source, 'mode'),
    label: readKey(source, 'label'),
    allow: readKey(source, 'allow'),
    emailDomains: readKey(source, 'email_domains')?.map(domainKey),
    emailTrusted: readKey(source, 'email_trusted'),
    scim: scimOf(source),
    directoryClaim,
    keeps: directoryClaim === undefined ? undefined : [directoryClaim],
    variables: { adapter: variableOf(source, 'adapter'), issuer: variableOf(source, 'issuer') },
  };
}

/** Name of the user id at the provider, which is always kept. */
const USER_ID = 'provider_user_id';

/** @returns undefined without a token */
function scimOf(source: Source): ScimSettings | undefined {
  const tokens = readKey(source, 'scim_token');
  const attribute = readKey(source, 'scim_attribute') ?? 'externalId';
  const claim = directoryClaimOf(source) ?? USER_ID;
  return tokens && { tokens, attribute, claim };
}

/** Microsoft has another `sub` for each application (docs/directory/entra.md). */
function directoryClaimOf(source: Source): string | undefined {
  const usual = source.variables.get('adapter')?.text === 'microsoft' ? 'oid' : undefined;
  const claim = readKey(source, 'scim_claim') ?? usual;
  return claim === USER_ID ? undefined : claim;
}

/** A token must name one provider. */
function refuseSharedScimTokens(sources: readonly Source[]): void {
  const owners = new Map<string, string>();
  for (const source of sources) {
    for (const token of source.variables
      .get('scim_token')
      ?.text.split(',')
      .map((one) => one.trim()) ?? []) {
      const owner = owners.get(token) ?? source.name;
      owners.set(token, owner);
      if (owner === source.name) continue;
      const use = 'a token of its own for each provider';
      source.errors.add(variableOf(source, 'scim_token'), `is also the token of ${owner}`, use, NOT_SHOWN);
    }
  }
}

function recheckOf(source: Source): RecheckSettings | undefined {
  const interval = readKey(source, 'recheck');
  const grace = readKey(source, 'recheck_grace') ?? RECHECK_GRACE;
  const rate = readKey(source, 'recheck_rate') ?? RECHECK_RATE;
  return interval === undefined ? undefined : { interval, grace, rate };
}

/** Only the adapter `oidc` asks again, and the other keys need `recheck`. */
function checkRecheck(source: Source, adapter: string): void {
  const { variables, errors } = source;
  for (const key of ['recheck', 'recheck_grace', 'recheck_rate']) {
    if (!variables.has(key)) continue;
    const variable = variableOf(source, key);
    if (!isOpenId(adapter)) {
      const use = `${variableOf(source, 'adapter')} with oidc or a product that speaks it, or remove it`;
      errors.add(variable, `is not a setting of the adapter ${quote(adapter)}`, use);
    } else if (!variables.has('recheck')) {
      errors.add(variable, 'needs recheck', `${variableOf(source, 'recheck')} as well, or remove it`);
    }
  }
}

function signalsOf(source: Source, adapter: string, url?: string): SignalsSettings | undefined {
  // Okta's organisation signs signals, its server `/oauth2/default` ID tokens (docs/directory/okta.md).
  const organisation = adapter === 'okta' ? /^(https?:\/\/[^/]+)\/oauth2\//i.exec(url ?? '')?.[1] : undefined;
  const settings = {
    issuer: readKey(source, 'signals_issuer') ?? organisation,
    audience: readKey(source, 'signals_audience'),
    endedBy: readKey(source, 'signals_end'),
  };
  return readKey(source, 'signals') ? settings : undefined;
}

/** Signals name users as an OpenID provider does, and the other keys need `signals`. */
function checkSignals(source: Source, adapter: string): void {
  const { variables, errors } = source;
  for (const key of ['signals_issuer', 'signals_audience', 'signals_end']) {
    if (!variables.has(key) || variables.has('signals')) continue;
    const variable = variableOf(source, 'signals');
    errors.add(variableOf(source, key), 'needs signals', `${variable} as well, or remove it`);
  }
  if (!variables.has('signals') || isOpenId(adapter)) return;
  const use = `${variableOf(source, 'adapter')} with oidc or a product that speaks it, or remove it`;
  errors.add(variableOf(source, 'signals'), `is not a setting of the adapter ${quote(adapter)}`, use);
}

/** Returns every key that the service does not read itself, unchanged. */
function options({ variables }: Source): Readonly<Record<string, string>> {
  const others = [...variables].filter(([key]) => !OWN_KEYS.has(key));
  return Object.fromEntries(others.map(([key, { text }]) => [key, text]));
}

function readKey<Key extends keyof Rows>(source: Source, key: Key): Value<Rows[Key]> | undefined {
  const row: SettingRow<unknown> = ROWS[key];
  const value = read(row, variableOf(source, key), source.variables.get(key)?.text, source.errors);
  return value as Value<Rows[Key]> | undefined;
}

/**
 * Returns the variable of a key for messages; of an unset key, in the spelling of the provider's other keys.
 */
function variableOf({ name, variables }: Source, key: string): string {
  const own = variables.get(key);
  if (own) return own.variable;
  const dotted = [...variables.values()].some(({ variable }) => variable.startsWith('providers.'));
  return dotted ? `providers.${name}.${key}` : `PROVIDERS_${name}_${key}`.toUpperCase();
}

function addUnset(source: Source, key: string, use: string): void {
  source.errors.add(variableOf(source, key), 'is not set', use);
}

/** Checks the options of a built-in adapter. A key that is unknown, or of other adapters, is an error. */
function checkAdapterKeys(source: Source, adapter: string): void {
  const keys = keysOf(adapter);
  for (const key of keys) readKey(source, key);
  const names = [...OWN_KEYS, ...keys];
  for (const [key, { variable }] of source.variables) {
    if (names.includes(key) || mappedClaim(key) !== undefined || OF_KUBERNETES.test(key)) continue;
    if (source.name === SAMPLE_PROVIDER && key === 'accounts') continue;
    const isOfOthers = Object.hasOwn(ROWS, key);
    const meant = isOfOthers ? undefined : suggestionFor(key, names, 4);
    const problem = `is not a setting of the adapter ${adapter}${meant ? ` (did you mean ${meant}?)` : ''}`;
    const use = isOfOthers
      ? `${variableOf(source, 'adapter')} with an adapter that has it`
      : 'a key of docs/settings.md';
    source.errors.add(variable, problem, `${use}, or remove it`);
  }
}

/**
 * Checks the keys `map_<claim>` (docs/settings.md#providers).
 * @param isOurs false: others are for an integrator's adapter
 */
function checkMaps(source: Source, claims: string | undefined, isOurs = true): void {
  const names = storedClaims(source, claims);
  for (const [key, { variable, text }] of source.variables) {
    const claim = mappedClaim(key);
    if (claim === undefined || (!isOurs && !names.includes(claim))) continue;
    read(ROWS['map_<claim>'], variable, text, source.errors);
    if (names.includes(claim)) continue;
    const meant = suggestionFor(claim, names, 4);
    const problem = `is about a claim that is not kept${meant ? ` (did you mean map_${meant}?)` : ''}`;
    source.errors.add(
      variable,
      problem,
      `${variableOf(source, 'claims')} with ${claim}=<path>, or remove it`,
    );
  }
}

/** Returns the names of the claims that users have from the provider, and from its directory. */
function storedClaims({ variables }: Source, claims: string | undefined): string[] {
  const names = claimPaths(claims).map(([name]) => name);
  return variables.has('scim_token') ? [...new Set([...names, 'groups', 'roles'])] : names;
}

/** Checks that users keep the claims that `allow` is about. */
function checkAllow(source: Source, claims: string | undefined): void {
  const names = storedClaims(source, claims);
  for (const condition of readKey(source, 'allow')?.flatMap(({ conditions }) => conditions) ?? []) {
    if (condition.kind === 'directory' && !source.variables.has('scim_token')) {
      const use = `${variableOf(source, 'scim_token')}, or another condition`;
      source.errors.add(
        variableOf(source, 'allow'),
        'is about a directory that is off',
        use,
        quote('directory'),
      );
    }
    if (condition.kind !== 'claim' || names.includes(condition.name)) continue;
    const { name } = condition;
    const meant = suggestionFor(name, names, 4);
    const problem = `is about a claim that is not kept${meant ? ` (did you mean ${meant}?)` : ''}`;
    const use = `${variableOf(source, 'claims')} with ${name}=<path>, or another condition`;
    source.errors.add(variableOf(source, 'allow'), problem, use, quote(`claim:${name}`));
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
function refuseWeak(source: Source, adapter: string, clientSecret: string | undefined): void {
  const { variables, errors } = source;
  const named = isOpenId(adapter) ? ['issuer'] : []; // browsers are sent there
  for (const key of ['url', ...named, 'signals_issuer', 'authorize_url', 'token_url', 'userinfo_url']) {
    const text = variables.get(key)?.text ?? '';
    if (/^http:/i.test(text) && parseUrl(text) && !isLoopbackUrl(text)) {
      errors.add(variableOf(source, key), 'is not secure', HTTPS, quote(text));
    }
  }
  if (clientSecret !== undefined && !isStrong(clientSecret)) {
    errors.add(variableOf(source, 'client_secret'), 'is too short', strongSecret.accepts, NOT_SHOWN);
  }
}
