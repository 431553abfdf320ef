import type { ProviderSettings, Settings } from '../platform/config/settings/settings.js';
import { isHttpUri, parseUrl } from '../platform/config/urls/urls.js';

type Rules = Pick<Settings, 'publicUrl' | 'ownRedirectUris' | 'redirectUris'>;
type Own = Pick<ProviderSettings, 'redirectUris'>;
type Named = Pick<ProviderSettings, 'name' | 'options'>;
type Address = Pick<Settings, 'publicUrl'>;

// The three spellings of loopback (RFC 8252 §7.3).
const LOOPBACK = /^(https?:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?((?:[/?].*)?)$/;

/** Whether `uri` may receive a code: compared as strings, loopback with any port (RFC 8252 §7.3). */
export function allowsRedirectUri(settings: Rules, provider: Own, uri: string): boolean {
  if (settings.ownRedirectUris.some((own) => asLocalhost(uri) === asLocalhost(own.uri))) return true;
  const list = provider.redirectUris ?? settings.redirectUris;
  if (list === undefined) return isHttpUri(uri);
  if (list.includes(uri)) return true;
  return isHttpUri(uri) && LOOPBACK.test(uri) && list.some((entry) => isSameButPort(entry, uri));
}

/** Redirect URI for a client that names none. */
export function defaultRedirectUri(settings: Rules, provider: Own): string {
  const list = provider.redirectUris ?? settings.redirectUris;
  return list?.[0] ?? callback(settings);
}

/** Whether a redirect URI is allowed for both providers, apart from the service's own pages. */
export function shareRedirectUri(settings: Rules, one: Own, other: Own): boolean {
  const rules = { ...settings, ownRedirectUris: [] };
  const [first, second] = [one, other].map((provider) => provider.redirectUris ?? settings.redirectUris);
  if (first === undefined || second === undefined) return true; // any URL is allowed
  return (
    first.some((uri) => allowsRedirectUri(rules, other, uri)) ||
    second.some((uri) => allowsRedirectUri(rules, one, uri))
  );
}

/** Callback of the service in a sign-in for a stock client, one for each provider (RFC 9700 §4.4.2.2). */
export function providerCallback({ publicUrl }: Address, name: string): string {
  return `${publicUrl}/providers/${name}/callback`;
}

/**
 * Redirect URIs that a provider receives. One that sends the code by POST needs that of stock clients only,
 * which command lines are, too: `http://127.0.0.1/…` without a port (RFC 8252 §7.3).
 */
export function redirectUrisToRegister(settings: Rules, provider: Own & Named): string[] {
  const list = [
    ...(provider.redirectUris ??
      settings.redirectUris?.filter((uri) => !isOfCommandLines(settings, uri)) ??
      []),
    ...settings.ownRedirectUris.filter(({ isRegistered }) => isRegistered).map(({ uri }) => uri),
  ];
  return [...new Set([...(postsCode(provider) ? [] : list), providerCallback(settings, provider.name)])];
}

/** Redirect URI of a sign-in at the provider: one that sends the code by POST sends it to the service. */
export function redirectUriAt(settings: Address, provider: Named, redirectUri: string): string {
  return postsCode(provider) ? providerCallback(settings, provider.name) : redirectUri;
}

export function postsCode({ options }: Pick<ProviderSettings, 'options'>): boolean {
  return options['response_mode'] === 'form_post';
}

/** A page may be open at both spellings of loopback: the service's own listens at both. */
function asLocalhost(uri: string): string {
  return uri.replace(/^(https?:\/\/)127\.0\.0\.1(?=[:/])/, '$1localhost');
}

function callback(settings: Rules): string {
  return `${settings.publicUrl}/callback`;
}

function isOfCommandLines({ publicUrl }: Address, uri: string): boolean {
  return LOOPBACK.test(uri) && parseUrl(uri)?.port === '' && !uri.startsWith(`${publicUrl}/`);
}

/** Whether both are one redirect URI of loopback, at any ports (RFC 8252 §7.3). @public */
export function isSameButPort(entry: string, uri: string): boolean {
  return LOOPBACK.test(entry) && entry.replace(LOOPBACK, '$1$2') === uri.replace(LOOPBACK, '$1$2');
}
