import { resolve } from 'node:path';
import { kind } from '../settings/kinds.js';
import { isLoopbackUrl, parseUrl } from '../urls/urls.js';
import { NOT_SHOWN, quote } from '../settings/invalid-settings.js';
import type { Faults } from '../settings/invalid-settings.js';
import { adapterKeys, providerKeys, ADAPTERS, requiredKeys } from './provider-keys.js';
import { providerVariable } from './provider-variables.js';
import type { ProviderVariables } from './provider-variables.js';
import { read } from '../settings/setting-row.js';
import type { Setting } from '../settings/setting-row.js';
import type { ProviderSettings, Settings } from '../settings/settings.js';

const OWN_KEYS = new Set<string>(Object.values(providerKeys).map((key) => key.name));

export interface ProviderSurroundings {
  readonly production: boolean;
  /** Relative paths begin here. */
  readonly cwd: string;
  readonly secretFiles: Settings['secretFiles'];
}

/** Whether clients may sign in with it: as `enabled` says, else once the key of `defaultsToOn` is given (contract §2). */
export function isEnabled(name: string, given: ProviderVariables, faults: Faults): boolean {
  return readKey(name, given, providerKeys.enabled, faults) ?? given.has(defaultsToOn(given));
}

/** The key that, once given, enables a provider: its `url`, or its `client_id` where the adapter needs no `url`. */
export function defaultsToOn(given: ProviderVariables): 'url' | 'client_id' {
  const adapter = given.get('adapter')?.text ?? providerKeys.adapter.default;
  return requiredKeys(adapter).includes('url') ? 'url' : 'client_id';
}

/** One enabled provider, or `undefined` when something is missing or at fault (which `faults` then knows). */
export function parseProvider(
  name: string,
  given: ProviderVariables,
  { production, cwd, secretFiles }: ProviderSurroundings,
  faults: Faults,
): ProviderSettings | undefined {
  const adapter = readKey(name, given, providerKeys.adapter, faults) ?? providerKeys.adapter.default;
  const url = readKey(name, given, providerKeys.url, faults);
  const clientId = readKey(name, given, providerKeys.clientId, faults);
  const clientSecret = readKey(name, given, providerKeys.clientSecret, faults);
  if (ADAPTERS.has(adapter)) checkAdapterKeys(name, adapter, given, faults);
  for (const key of [...requiredKeys(adapter), 'client_id', 'client_secret']) {
    if (!given.has(key))
      faults.add(providerVariable(name, key, given), 'was unset', `a value, as ${name} is enabled`);
  }
  const shown = { ...ownCallback(name, given, faults), ...listing(name, given, faults) };
  if (production) refuseWeak(given, clientSecret, faults);
  if (clientId === undefined || clientSecret === undefined) return undefined;
  const file = secretFiles.get(providerVariable(name, 'client_secret', given));
  const accepted = production ? strongSecret : providerKeys.clientSecret.kind;
  return {
    name,
    adapter: adapter.startsWith('./') ? resolve(cwd, adapter) : adapter,
    ...(url !== undefined && { url }),
    clientId,
    clientSecret,
    ...(file && { clientSecretFile: { ...file, kind: accepted } }),
    ...shown,
    options: options(given),
  };
}

/** The settings for the provider's callback: its own allow-list, and what `iss` must be. */
export function ownCallback(
  name: string,
  given: ProviderVariables,
  faults: Faults,
): Pick<ProviderSettings, 'redirectUris' | 'issuer' | 'variables'> {
  const redirectUris = readKey(name, given, providerKeys.redirectUris, faults);
  const issuer = readKey(name, given, providerKeys.issuer, faults);
  return {
    ...(redirectUris && { redirectUris }),
    ...(issuer !== undefined && { issuer }),
    variables: {
      adapter: providerVariable(name, 'adapter', given),
      issuer: providerVariable(name, 'issuer', given),
    },
  };
}

/** What applications are told of the provider (contract §2, `mode` and `label`). */
export function listing(
  name: string,
  given: ProviderVariables,
  faults: Faults,
): Pick<ProviderSettings, 'mode' | 'label'> {
  const mode = readKey(name, given, providerKeys.mode, faults);
  const label = readKey(name, given, providerKeys.label, faults);
  return { ...(mode !== undefined && { mode }), ...(label !== undefined && { label }) };
}

/** Every key that the service does not read itself, as it was given. */
export function options(given: ProviderVariables): Readonly<Record<string, string>> {
  const others = [...given].filter(([key]) => !OWN_KEYS.has(key));
  return Object.fromEntries(others.map(([key, { text }]) => [key, text]));
}

function readKey<T>(name: string, given: ProviderVariables, key: Setting<T>, faults: Faults): T | undefined {
  return read(key, providerVariable(name, key.name, given), given.get(key.name)?.text, faults);
}

/** Checks the keys that a built-in adapter reads as options; `contract` reads only some of them. */
export function checkAdapterKeys(
  name: string,
  adapter: string,
  given: ProviderVariables,
  faults: Faults,
): void {
  const { pkce, nonce } = adapterKeys;
  const keys: readonly Setting<unknown>[] =
    adapter === 'contract' ? [pkce, nonce] : Object.values(adapterKeys);
  for (const key of keys) readKey(name, given, key, faults);
}

const isStrong = (secret: string): boolean => secret.length >= 16;

const strongSecret = kind('at least 16 characters in production', (secret) =>
  isStrong(secret) ? providerKeys.clientSecret.kind.parse(secret) : undefined,
);

// contract §2: what production refuses in the settings of a provider
function refuseWeak(given: ProviderVariables, clientSecret: string | undefined, faults: Faults): void {
  for (const key of ['url', 'authorize_url', 'token_url', 'userinfo_url']) {
    const { variable, text } = given.get(key) ?? {};
    if (variable !== undefined && text !== undefined && isInsecure(text)) {
      faults.add(variable, quote(text), 'https:// in production, unless the host is loopback');
    }
  }
  if (clientSecret !== undefined && !isStrong(clientSecret)) {
    const { variable = 'client_secret' } = given.get('client_secret') ?? {};
    faults.add(variable, NOT_SHOWN, strongSecret.accepts);
  }
}

function isInsecure(url: string): boolean {
  return /^http:/i.test(url) && parseUrl(url) !== undefined && !isLoopbackUrl(url);
}
