import { isLoopbackUrl } from './loopback.js';
import { NOT_SHOWN, quote } from './invalid-settings.js';
import type { Faults } from './invalid-settings.js';
import { providerKeys } from './provider-keys.js';
import { providerVariable } from './provider-variables.js';
import type { ProviderVariables } from './provider-variables.js';
import { read } from './setting.js';
import type { Setting } from './setting.js';
import type { ProviderSettings } from './settings.js';

const OWN_KEYS = new Set<string>(Object.values(providerKeys).map((key) => key.name));

/** Whether clients may sign in with it: as said, else as soon as it has a `url` (contract §2). */
export function isEnabled(name: string, given: ProviderVariables, faults: Faults): boolean {
  return readKey(name, given, providerKeys.enabled, faults) ?? given.has('url');
}

/** One enabled provider, or `undefined` when something is missing or at fault (which `faults` then knows). */
export function parseProvider(
  name: string,
  given: ProviderVariables,
  production: boolean,
  faults: Faults,
): ProviderSettings | undefined {
  const url = readKey(name, given, providerKeys.url, faults);
  const clientId = readKey(name, given, providerKeys.clientId, faults);
  const clientSecret = readKey(name, given, providerKeys.clientSecret, faults);
  const adapter = readKey(name, given, providerKeys.adapter, faults) ?? providerKeys.adapter.default;
  for (const key of ['url', 'client_id', 'client_secret']) {
    if (!given.has(key))
      faults.add(providerVariable(name, key, given), 'was unset', `a value, as ${name} is enabled`);
  }
  if (url === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  if (production) refuseWeak(name, given, url, clientSecret, faults);
  const redirectUris = ownRedirectUris(name, given, faults);
  return { name, adapter, url, clientId, clientSecret, ...redirectUris, options: options(given) };
}

/** The provider's own allow-list, as a part of its settings; empty where it has none. */
export function ownRedirectUris(
  name: string,
  given: ProviderVariables,
  faults: Faults,
): Pick<ProviderSettings, 'redirectUris'> {
  const redirectUris = readKey(name, given, providerKeys.redirectUris, faults);
  return redirectUris ? { redirectUris } : {};
}

/** Every key that the service does not read itself, as it was given. */
export function options(given: ProviderVariables): Readonly<Record<string, string>> {
  const others = [...given].filter(([key]) => !OWN_KEYS.has(key));
  return Object.fromEntries(others.map(([key, { text }]) => [key, text]));
}

function readKey<T>(name: string, given: ProviderVariables, key: Setting<T>, faults: Faults): T | undefined {
  const { variable, text } = given.get(key.name) ?? {
    variable: providerVariable(name, key.name, given),
    text: undefined,
  };
  return read(key, variable, text, faults);
}

// contract §2: what production refuses of a provider
function refuseWeak(
  name: string,
  given: ProviderVariables,
  url: string,
  clientSecret: string,
  faults: Faults,
): void {
  const variable = (key: string): string => given.get(key)?.variable ?? providerVariable(name, key, given);
  if (url.startsWith('http:') && !isLoopbackUrl(url)) {
    faults.add(variable('url'), quote(url), 'https:// in production, unless the host is loopback');
  }
  if (clientSecret.length < 16) {
    faults.add(variable('client_secret'), NOT_SHOWN, 'at least 16 characters in production');
  }
}
