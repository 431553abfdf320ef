import { resolve } from 'node:path';
import { parser } from '../settings/parsers.js';
import { domainKey } from '../urls/email-address.js';
import { isLoopbackUrl, parseUrl } from '../urls/urls.js';
import { suggestionFor, type SettingErrors } from '../settings/invalid-settings.js';
import type { ProviderSettings } from '../settings/settings.js';
import type { BuiltInProvider, SettingTables } from '../settings/settings-part.js';
import { mappedClaim } from './claim-map.js';
import { claimPaths } from './claim-paths.js';
import { readClientKey } from './client-key.js';
import { isOpenId, protocolOf } from './presets.js';
import { adapterKeys, ADAPTERS, providerKeys, requiredKeys, type ProviderRow } from './provider-keys.js';
import { ProviderSource } from './provider-source.js';
import type { ProviderVariables } from './provider-variables.js';

const ROWS = { ...providerKeys, ...adapterKeys };

/** Protocols of the keys of adapters, unless a row names others. */
const OAUTH: ProviderRow<unknown>['adapters'] = ['oidc', 'oauth2'];

/** Kubernetes sets such variables for a service called `providers-<name>`. */
const OF_KUBERNETES = /^(?:service_(?:host|port)|port)(?:_|$)/;

export const HTTPS = 'https:// in production, unless the host is loopback';

/** Completes a built-in provider, once all other settings are known. */
type Complete = (settings: Parameters<BuiltInProvider['complete']>[1]) => ProviderSettings;

/** The enabled providers: first the built-in ones. */
export interface EnabledProviders {
  readonly builtIn: ReadonlyMap<string, Complete>;
  readonly others: ReadonlyMap<string, ProviderSettings>;
}

export function enabledProviders(
  all: ReadonlyMap<string, ProviderVariables>,
  tables: SettingTables,
  surroundings: ProviderSource['surroundings'],
  errors: SettingErrors,
): EnabledProviders {
  const builtIn = new Map<string, Complete>();
  const others = new Map<string, ProviderSettings>();
  const sourceOf = (name: string): ProviderSource =>
    new ProviderSource(name, all.get(name) ?? new Map(), surroundings, errors);
  const enabled: ProviderSource[] = [];
  const ownNames = tables.parts.flatMap((part) => part.builtInProvider?.name ?? []);
  for (const name of new Set([...all.keys(), ...ownNames])) {
    const source = sourceOf(name);
    const own = source.has('url') ? undefined : tables.builtIn(name);
    const byDefault = own ? !surroundings.production : source.has(defaultsToOn(source.variables));
    if (!(source.read(ROWS, 'enabled') ?? byDefault)) continue;
    enabled.push(source);
    if (own) {
      builtIn.set(name, parseBuiltIn(source, own, tables));
    } else {
      const provider = parseProvider(source, tables);
      if (provider) others.set(name, provider);
    }
  }
  for (const part of tables.parts) part.checkProviders?.(enabled);
  return { builtIn, others };
}

/** Returns the key that enables a provider: its `url`, or its `client_id` if the adapter needs no `url`. */
export function defaultsToOn(variables: ProviderVariables): 'url' | 'client_id' {
  const adapter = variables.get('adapter')?.text ?? providerKeys.adapter.default;
  return requiredKeys(adapter).includes('url') ? 'url' : 'client_id';
}

function parseBuiltIn(source: ProviderSource, own: BuiltInProvider, tables: SettingTables): Complete {
  const set = options(source, { ...tables.ownKeys, ...own.keys });
  const all = { ...own.options, ...set };
  checkKeys(source, 'contract', tables, own.keys);
  const shared = ofEveryProvider(source, tables);
  checkMaps(source, shared, all['claims']);
  checkAllow(source, shared, all['claims']);
  const read = { name: source.name, adapter: 'contract', isBuiltIn: true, ...shared } as const;
  const found = { ...read, ...own.read(source), options: all };
  return (settings) => own.complete(found, settings);
}

/** @returns undefined if a value is missing or invalid */
function parseProvider(source: ProviderSource, tables: SettingTables): ProviderSettings | undefined {
  const { name, surroundings } = source;
  const { production, cwd, secretFiles } = surroundings;
  const adapter = source.read(ROWS, 'adapter') ?? providerKeys.adapter.default;
  const url = source.read(ROWS, 'url');
  const clientId = source.read(ROWS, 'client_id');
  const clientKey = source.read(ROWS, 'client_key');
  const method = methodOf(source, adapter);
  const usesSecret = method === 'client_secret';
  const clientSecret = usesSecret ? source.read(ROWS, 'client_secret') : '';
  const isOurs = ADAPTERS.has(adapter);
  checkKeys(source, adapter, tables, tables.builtIn(name)?.keys);
  const shared = ofEveryProvider(source, tables);
  checkMaps(source, shared, source.text('claims'), isOurs);
  checkAllow(source, shared, source.text('claims'));
  const credentials = { client_secret: ['client_secret'], private_key_jwt: ['client_key'], none: [] }[method];
  for (const key of new Set([...requiredKeys(adapter), 'client_id', ...credentials])) {
    if (!source.has(key)) source.refuseUnset(key, `a value, because ${name} is enabled`);
  }
  if (adapter === 'microsoft') requireTenants(source, url);
  if (adapter === 'apple') requireKeyId(source, clientKey);
  if (production) refuseWeak(source, adapter, tables, usesSecret ? clientSecret : undefined);
  if (clientId === undefined || clientSecret === undefined) return undefined;
  const file = secretFiles.get(source.variableOf('client_secret'));
  const accepted = production ? strongSecret : providerKeys.client_secret.parser;
  return {
    name,
    adapter: adapter.startsWith('./') ? resolve(cwd, adapter) : adapter,
    ...(!source.has('adapter') && { isDefaultAdapter: true }),
    url,
    clientId,
    clientSecret,
    ...(file && usesSecret && { clientSecretFile: { ...file, parser: accepted } }),
    clientKey,
    clientKeyFile: secretFiles.get(source.variableOf('client_key')),
    ...shared,
    options: {
      ...(method === 'private_key_jwt' && adapter !== 'apple' && { token_endpoint_auth_method: method }),
      ...options(source, tables.ownKeys),
    },
  };
}

/** How the client authenticates: a key without another setting replaces the secret. */
function methodOf(source: ProviderSource, adapter: string): 'client_secret' | 'private_key_jwt' | 'none' {
  if (adapter === 'contract') return 'client_secret';
  const set = source.text('token_endpoint_auth_method');
  if (set === 'none' || set === 'private_key_jwt') return set;
  if (adapter === 'apple') return 'private_key_jwt';
  return set === undefined && source.has('client_key') ? 'private_key_jwt' : 'client_secret';
}

/** An issuer of many tenants signs for users of any company (docs/providers.md#not-supported). */
function requireTenants(source: ProviderSource, url: string | undefined): void {
  const isShared = url === undefined || /\/(?:common|organizations)(?:\/|$)/i.test(url);
  if (!isShared || source.has('tenants')) return;
  source.refuseUnset('tenants', 'the ids of the tenants with users that may sign in, separated by commas');
}

function requireKeyId(source: ProviderSource, clientKey: string | undefined): void {
  if (clientKey === undefined || source.has('client_key_id')) return;
  if (readClientKey(clientKey)?.header['kid'] !== undefined) return;
  source.refuseUnset('client_key_id', 'the id of the key at Apple, because client_key does not contain it');
}

/** Members that also a built-in provider has, and the members of features. */
type Shared = Pick<ProviderSettings, 'variables' | 'directoryClaims'> & Partial<ProviderSettings>;

/** @throws if two features set one member */
function ofEveryProvider(source: ProviderSource, tables: SettingTables): Shared {
  const ofFeatures = tables.parts.map((part) => part.ofProvider?.(source) ?? {});
  const members = ofFeatures.flatMap((one) => Object.keys(one));
  const twice = members.find((member, i) => members.indexOf(member) !== i);
  if (twice !== undefined) throw new Error(`two features set ${twice} of a provider`);
  return Object.assign(
    {
      redirectUris: source.read(ROWS, 'redirect_uris'),
      issuer: source.read(ROWS, 'issuer'),
      authTime: source.read(ROWS, 'auth_time'),
      mode: source.read(ROWS, 'mode'),
      label: source.read(ROWS, 'label'),
      allow: source.read(ROWS, 'allow'),
      emailDomains: source.read(ROWS, 'email_domains')?.map(domainKey),
      emailTrusted: source.read(ROWS, 'email_trusted'),
      variables: { adapter: source.variableOf('adapter'), issuer: source.variableOf('issuer') },
    },
    ...ofFeatures,
  ) as Shared;
}

/** Returns every key that the service does not read itself, unchanged. */
function options({ variables }: ProviderSource, ownKeys: object): Readonly<Record<string, string>> {
  const others = [...variables].filter(([key]) => !Object.hasOwn(ownKeys, key));
  return Object.fromEntries(others.map(([key, { text }]) => [key, text]));
}

/** Refuses unknown keys, those of other adapters, those without a needed one. @param further own keys */
function checkKeys(
  source: ProviderSource,
  adapter: string,
  { ownKeys, providerKeys: rows }: SettingTables,
  further: object = {},
): void {
  const isOwn = (key: string): boolean => Object.hasOwn(ownKeys, key);
  const fits = (key: string): boolean => {
    const { adapters = isOwn(key) ? undefined : OAUTH } = rows[key]!;
    return !adapters || adapters.some((one) => one === protocolOf(adapter));
  };
  for (const key of source.variables.keys()) {
    const isOther = mappedClaim(key) !== undefined || OF_KUBERNETES.test(key) || Object.hasOwn(further, key);
    if (!isOwn(key) && (isOther || !ADAPTERS.has(adapter))) continue;
    const isKnown = Object.hasOwn(rows, key);
    if (isKnown && fits(key)) {
      const { needs } = rows[key]!;
      if (!isOwn(key)) source.check(rows[key]!, key);
      if (needs === undefined || source.has(needs)) continue;
      source.refuse(key, `needs ${needs}`, `${source.variableOf(needs)} as well, or remove it`);
      continue;
    }
    const meant = isKnown ? undefined : suggestionFor(key, Object.keys(rows).filter(fits), 4);
    const problem = `is not a setting of the adapter ${adapter}${meant ? ` (did you mean ${meant}?)` : ''}`;
    const use = isKnown
      ? `${source.variableOf('adapter')} with an adapter that has it`
      : 'a key of docs/settings.md';
    source.refuse(key, problem, `${use}, or remove it`);
  }
}

/** Checks the keys `map_<claim>`. @param isOurs false: others are for an integrator's adapter */
function checkMaps(source: ProviderSource, shared: Shared, claims: string | undefined, isOurs = true): void {
  const names = storedClaims(shared, claims);
  for (const key of source.variables.keys()) {
    const claim = mappedClaim(key);
    if (claim === undefined || (!isOurs && !names.includes(claim))) continue;
    source.check(ROWS['map_<claim>'], key);
    if (names.includes(claim)) continue;
    const meant = suggestionFor(claim, names, 4);
    const problem = `is about a claim that is not kept${meant ? ` (did you mean map_${meant}?)` : ''}`;
    source.refuse(key, problem, `${source.variableOf('claims')} with ${claim}=<path>, or remove it`);
  }
}

/** Returns the names of the claims that users have from the provider, and from its directory. */
function storedClaims({ directoryClaims = [] }: Shared, claims: string | undefined): string[] {
  return [...new Set([...claimPaths(claims).map(([name]) => name), ...directoryClaims])];
}

/** Checks that users keep the claims that `allow` is about. */
function checkAllow(source: ProviderSource, shared: Shared, claims: string | undefined): void {
  const names = storedClaims(shared, claims);
  for (const condition of shared.allow?.flatMap(({ conditions }) => conditions) ?? []) {
    if (condition.kind === 'directory' && !shared.directoryClaims) {
      const use = 'the settings of a directory (docs/directory.md), or another condition';
      source.refuse('allow', 'is about a directory that is off', use, 'directory');
    }
    if (condition.kind !== 'claim' || names.includes(condition.name)) continue;
    const { name } = condition;
    const meant = suggestionFor(name, names, 4);
    const problem = `is about a claim that is not kept${meant ? ` (did you mean ${meant}?)` : ''}`;
    const use = `${source.variableOf('claims')} with ${name}=<path>, or another condition`;
    source.refuse('allow', problem, use, `claim:${name}`);
  }
}

const isStrong = (secret: string): boolean => secret.length >= 16;

const strongSecret = parser('at least 16 characters in production', (secret) =>
  isStrong(secret) ? providerKeys.client_secret.parser.parse(secret) : undefined,
);

// What production refuses in the settings of a provider.
function refuseWeak(
  source: ProviderSource,
  adapter: string,
  { providerKeys: rows }: SettingTables,
  clientSecret: string | undefined,
): void {
  for (const [key, { needsHttps }] of Object.entries(rows)) {
    if (!needsHttps || (key === 'issuer' && !isOpenId(adapter))) continue; // else only compared
    const text = source.text(key) ?? '';
    if (/^http:/i.test(text) && parseUrl(text) && !isLoopbackUrl(text)) {
      source.refuse(key, 'is not secure', HTTPS, text);
    }
  }
  if (clientSecret !== undefined && !isStrong(clientSecret)) {
    source.refuse('client_secret', 'is too short', strongSecret.accepts, { secret: true });
  }
}
