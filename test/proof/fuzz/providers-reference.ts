import { resolve } from 'node:path';
import type { Claims } from './claims.js';
import type { Reader } from './reading.js';
import {
  authMethods,
  baseUrl,
  endpoint,
  isInsecure,
  line,
  modes,
  redirectUris,
  trueFalse,
} from './values-reference.js';

type Environment = Readonly<Record<string, string | undefined>>;
interface Given {
  readonly variable: string;
  readonly text: string;
}
type Keys = Map<string, Given>;

const ADAPTERS: Readonly<Record<string, readonly string[]>> = {
  contract: ['url'],
  oidc: ['url'],
  oauth2: ['authorize_url', 'token_url', 'userinfo_url'],
  github: [],
  discord: [],
  google: [],
};

/** One of ours, a file, or a package (https://docs.npmjs.com/cli/configuring-npm/package-json#name). */
const adapter: Reader = (text, cwd) => {
  if (Object.hasOwn(ADAPTERS, text)) return { is: text, isOpen: false };
  if (/^\.?\/./.test(text))
    return { is: text.startsWith('.') ? resolve(cwd, text) : text, isOpen: !/^[\w./-]+$/.test(text) };
  return /^(?:@[a-z0-9~_.-]+\/)?[a-z0-9~_.-]+$/.test(text)
    ? { is: text, isOpen: !/^(?:@[a-z][a-z0-9-]*\/)?[a-z][a-z0-9-]*$/.test(text) }
    : undefined;
};

/** What the service reads itself, by key (contract §2). */
const OWN: Readonly<Record<string, readonly [string, Reader]>> = {
  url: ['url', baseUrl],
  client_id: ['clientId', line],
  client_secret: ['clientSecret', line],
  adapter: ['adapter', adapter],
  redirect_uris: ['redirectUris', redirectUris],
  issuer: ['issuer', endpoint],
  mode: ['mode', modes],
  label: ['label', line],
};
/** What an adapter of ours reads. */
const OF_ADAPTERS: Readonly<Record<string, Reader>> = {
  scope: line,
  claim_user_id: line,
  claim_username: line,
  claim_email: line,
  claim_avatar_url: line,
  authorize_url: endpoint,
  token_url: endpoint,
  userinfo_url: endpoint,
  token_endpoint_auth_method: authMethods,
};

const isOf = (table: object, key: string): boolean => Object.hasOwn(table, key);

/** See secretOf (settings-reference.ts). */
export function secretOfProvider(variable: string): { secret: string; isFile: boolean } | undefined {
  const [, upper, file] = /^(PROVIDERS_[A-Z0-9]+_CLIENT_SECRET)(_FILE)?$/.exec(variable) ?? [];
  const [, dotted, also] = /^(providers\.[^.]+\.client_secret)(_file)?$/.exec(variable) ?? [];
  const secret = upper ?? dotted;
  return secret === undefined ? undefined : { secret, isFile: (file ?? also) !== undefined };
}

/** What is said of providers, in both spellings; each key once. */
export function providersByTheBook(
  env: Environment,
  { production, cwd }: { production: boolean; cwd: string },
  claims: Claims,
): void {
  const providers = new Map<string, object>();
  const all = sorted(env, claims);
  for (const [name, { keys, isInConflict }] of all) {
    const isLost = isInConflict || [...keys.values()].some(({ variable }) => claims.isLost(variable));
    if (isLost) doubtAll(name, keys, claims);
    else if (name !== 'mock' || keys.has('url')) {
      const provider = providerByTheBook(name, keys, production, cwd, claims);
      if (provider) providers.set(name, provider);
    }
  }
  claims.setting('providers', providers);
  const mock = all.get('mock');
  if (mock?.keys.has('url')) return claims.setting('sampleProvider', undefined);
  if (mock?.isInConflict) return;
  claims.setting('sampleProvider', sampleByTheBook(mock?.keys ?? new Map(), production, cwd, claims));
}

function sorted(env: Environment, claims: Claims): Map<string, { keys: Keys; isInConflict: boolean }> {
  const providers = new Map<string, { keys: Keys; isInConflict: boolean }>();
  for (const [variable, text] of Object.entries(env)) {
    if (!text) continue;
    const [, dotted, itsKey] = /^providers\.([a-z0-9][a-z0-9_-]{0,62})\.([a-z0-9_]+)$/.exec(variable) ?? [];
    const [, upper, upperKey] = /^PROVIDERS_([A-Z0-9]{1,63})_([A-Z0-9_]+)$/.exec(variable) ?? [];
    const [name, key] = [dotted ?? upper?.toLowerCase(), itsKey ?? upperKey?.toLowerCase()];
    if (name === undefined || key === undefined) {
      if (variable.startsWith('providers.')) claims.fault(variable);
      continue;
    }
    const provider = providers.get(name) ?? { keys: new Map(), isInConflict: false };
    const other = provider.keys.get(key);
    if (other && other.text !== text) {
      claims.oneOf(variable, other.variable);
      provider.isInConflict = true;
    }
    provider.keys.set(key, other ?? { variable, text });
    providers.set(name, provider);
  }
  return providers;
}

/** One that is enabled, or may be. */
function providerByTheBook(
  name: string,
  keys: Keys,
  production: boolean,
  cwd: string,
  claims: Claims,
): object | undefined {
  const enabled = enabledOf(keys, claims);
  const kind = keys.get('adapter')?.text ?? 'contract';
  const isOurs = isOf(ADAPTERS, kind);
  const isAdapter = adapter(kind, cwd)?.isOpen === false;
  const needed = isOurs ? ADAPTERS[kind]! : [];
  const isOn = enabled ?? keys.has(needed.includes('url') ? 'url' : 'client_id');
  if (!isOn) {
    // `enabled` alone is judged; one that is off may as well be judged as a whole.
    if (isAdapter && (enabled !== undefined || !keys.has('enabled'))) return undefined;
    doubtAll(name, keys, claims);
    return undefined;
  }
  if (!isAdapter || (enabled === undefined && keys.has('enabled'))) doubtMissing(name, claims);
  else {
    for (const key of [...needed, 'client_id', 'client_secret'])
      if (!keys.has(key)) claims.oneOf(...spellings(name, key));
  }
  const settings: Record<string, unknown> = { name, adapter: 'contract', ...ownOf(keys, cwd, claims) };
  if (isOurs && kind !== 'contract') {
    for (const [key, reader] of Object.entries(OF_ADAPTERS)) judge(keys.get(key), reader, cwd, claims);
  }
  if (production) {
    const secret = keys.get('client_secret');
    if (secret && secret.text.length < 16) claims.fault(secret.variable);
    for (const key of ['url', 'authorize_url', 'token_url', 'userinfo_url']) {
      const address = keys.get(key);
      const reading = address && (key === 'url' ? baseUrl : endpoint)(address.text, cwd);
      if (reading && isInsecure(reading.is as string)) claims.fault(address.variable);
      else if (address && !reading) claims.doubt(address.variable);
    }
  }
  return settings;
}

function sampleByTheBook(keys: Keys, production: boolean, cwd: string, claims: Claims): object | undefined {
  const enabled = enabledOf(keys, claims);
  if (enabled === undefined && keys.has('enabled')) {
    doubtAll('mock', keys, claims);
    return undefined;
  }
  if (!(enabled ?? !production)) return undefined;
  const { accounts, ...options } = optionsOf(keys);
  if (production && accounts === undefined) claims.oneOf(...spellings('mock', 'accounts'));
  const file = keys.get('accounts');
  const {
    adapter: _adapter,
    url: _url,
    clientId: _id,
    clientSecret: _secret,
    ...read
  } = ownOf(
    new Map([...keys].filter(([key]) => ['redirect_uris', 'issuer', 'mode', 'label'].includes(key))),
    cwd,
    claims,
  ) as Record<string, unknown>;
  return {
    ...(file && { accountsFile: { path: resolve(cwd, accounts!), variable: file.variable } }),
    provider: { ...read, options },
  };
}

function enabledOf(keys: Keys, claims: Claims): boolean | undefined {
  return judge(keys.get('enabled'), trueFalse, '', claims) as boolean | undefined;
}

function ownOf(keys: Keys, cwd: string, claims: Claims): object {
  const own = Object.entries(OWN).flatMap(([key, [setting, reader]]) => {
    const given = keys.get(key);
    return given ? [[setting, judge(given, reader, cwd, claims)]] : [];
  });
  return { ...(Object.fromEntries(own) as object), options: optionsOf(keys) };
}

/** Every other key, as it was given. */
function optionsOf(keys: Keys): Record<string, string> {
  const others = [...keys].filter(([key]) => key !== 'enabled' && !isOf(OWN, key));
  return Object.fromEntries(others.map(([key, { text }]) => [key, text]));
}

function judge(given: Given | undefined, reader: Reader, cwd: string, claims: Claims): unknown {
  if (!given) return undefined;
  const reading = reader(given.text, cwd);
  if (!reading) claims.fault(given.variable);
  else if (reading.isOpen) claims.doubt(given.variable);
  return reading?.is;
}

function doubtAll(name: string, keys: Keys, claims: Claims): void {
  claims.doubt(...[...keys.values()].map(({ variable }) => variable));
  doubtMissing(name, claims);
}

function doubtMissing(name: string, claims: Claims): void {
  for (const key of [...new Set(Object.values(ADAPTERS).flat()), 'client_id', 'client_secret', 'accounts'])
    claims.doubt(...spellings(name, key));
}

const spellings = (name: string, key: string): string[] => [
  `providers.${name}.${key}`,
  ...(/^[a-z0-9]+$/.test(name) ? [`PROVIDERS_${name}_${key}`.toUpperCase()] : []),
];
