import type { ProviderSettings, Settings } from '../config/settings/settings.js';
import { isHttpUri } from '../config/urls/urls.js';

type Rules = Pick<Settings, 'publicUrl' | 'demoEnabled' | 'redirectUris'>;
type Own = Pick<ProviderSettings, 'redirectUris'>;

// The three spellings of this machine that allow-lists know (RFC 8252 §7.3).
const LOOPBACK = /^(https?:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?((?:[/?].*)?)$/;

/**
 * Whether the browser may be sent to `uri` with a code (contract §2 `REDIRECT_URIS`).
 *
 * The provider's own list decides; without one, the general list; without both, any http(s) URL is allowed. Entries are
 * compared as strings, except that a loopback entry matches any port (RFC 8252 §7.3).
 */
export function allowsRedirectUri(settings: Rules, provider: Own, uri: string): boolean {
  if (settings.demoEnabled && asLocalhost(uri) === asLocalhost(callback(settings))) return true;
  const list = provider.redirectUris ?? settings.redirectUris;
  if (list === undefined) return isHttpUri(uri);
  return list.includes(uri) || (isHttpUri(uri) && LOOPBACK.test(uri) && list.some(sameButPort(uri)));
}

/** Where the browser goes when the client names no redirect URI (contract §4, authorize). */
export function defaultRedirectUri(settings: Rules, provider: Own): string {
  const list = provider.redirectUris ?? settings.redirectUris;
  return list?.[0] ?? callback(settings);
}

/** Whether clients can receive the codes of both providers at one redirect URI. The callback of the demo is not counted. */
export function shareRedirectUri(settings: Rules, one: Own, other: Own): boolean {
  const rules = { ...settings, demoEnabled: false };
  const [ofOne, ofOther] = [one, other].map((provider) => provider.redirectUris ?? settings.redirectUris);
  if (ofOne === undefined || ofOther === undefined) return true; // any URL is allowed
  return (
    ofOne.some((uri) => allowsRedirectUri(rules, other, uri)) ||
    ofOther.some((uri) => allowsRedirectUri(rules, one, uri))
  );
}

/** Where a provider sends the browser in a sign-in for a stock client: each its own (contract §4; RFC 9700 §4.4.2.2). */
export function providerCallback({ publicUrl }: Pick<Settings, 'publicUrl'>, name: string): string {
  return `${publicUrl}/providers/${name}/callback`;
}

/** The demo offers its page at the other spelling as a second device: to browsers that is another origin. */
function asLocalhost(uri: string): string {
  return uri.replace(/^(https?:\/\/)127\.0\.0\.1(?=[:/])/, '$1localhost');
}

function callback(settings: Rules): string {
  return `${settings.publicUrl}/callback`;
}

function sameButPort(uri: string): (entry: string) => boolean {
  const wanted = withoutPort(uri);
  return (entry) => LOOPBACK.test(entry) && withoutPort(entry) === wanted;
}

function withoutPort(loopbackUri: string): string {
  return loopbackUri.replace(LOOPBACK, '$1$2');
}
