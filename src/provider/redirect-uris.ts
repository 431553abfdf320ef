import { isThisMachine, LOOPBACK_HOST } from '../config/loopback.js';
import type { ProviderSettings, Settings } from '../config/settings.js';
import { isHttpUri } from '../config/url-kinds.js';

type Rules = Pick<Settings, 'publicUrl' | 'demoEnabled' | 'redirectUris'>;
type Own = Pick<ProviderSettings, 'redirectUris'>;

const OWN_ENDPOINTS = /^\/+(?:oauth2|providers)\//i;
const LOOPBACK = new RegExp(`^(https?://${LOOPBACK_HOST})(?::\\d{1,5})?((?:[/?].*)?)$`);

/**
 * Whether the browser may be sent to `uri` with a code (contract §2 `REDIRECT_URIS`).
 *
 * The provider's own list rules, else the general one, else any http(s) URL will do. Entries are
 * compared as strings, except that a loopback entry matches any port (RFC 8252 §7.3).
 */
export function allowsRedirectUri(settings: Rules, provider: Own, uri: string): boolean {
  if (settings.demoEnabled && uri === callback(settings)) return true;
  const list = provider.redirectUris ?? settings.redirectUris;
  if (list === undefined) return isHttpUri(uri);
  return list.includes(uri) || (isHttpUri(uri) && LOOPBACK.test(uri) && list.some(sameButPort(uri)));
}

/**
 * Whether a URI leads to an endpoint of the service itself, or of its sample provider: nobody's callback is there, and a
 * code must not go round in circles (contract §4). Judged as servers and proxies may read it: decoded, without dots, in
 * any case, and for loopback by whichever name.
 */
export function isOwnEndpoint(
  { publicUrl, port }: Pick<Settings, 'publicUrl' | 'port'>,
  uri: string,
): boolean {
  const [own, other] = [new URL(publicUrl), new URL(uri)];
  const isOurName = own.port === other.port && nameOf(own) === nameOf(other);
  const isHere = other.port === String(port) && isThisMachine(uri);
  return (isOurName || isHere) && OWN_ENDPOINTS.test(decoded(other.pathname));
}

/** Without the dot of the root. */
function nameOf({ hostname }: URL): string {
  return hostname.replace(/\.$/, '');
}

function decoded(path: string): string {
  try {
    return new URL(`http://localhost${decodeURIComponent(path)}`).pathname;
  } catch {
    return path; // not UTF-8, or no path any more
  }
}

/** Where the browser goes when the client names no redirect URI (contract §4, authorize). */
export function defaultRedirectUri(settings: Rules, provider: Own): string {
  const list = provider.redirectUris ?? settings.redirectUris;
  return list?.[0] ?? callback(settings);
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
