import { isThisMachine } from '../config/loopback.js';
import type { Settings } from '../config/settings.js';

const OWN_ENDPOINTS = /^\/+(?:oauth2|providers)\//i;

/**
 * Whether a URI leads to an endpoint of the service itself, or of its sample provider: no client has its callback there,
 * and a code must not go round in circles (contract §4). The path is judged as servers and proxies may read it: decoded,
 * without dot segments, in any letter case. Any name for this machine counts.
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

/** The host name without the final dot (the DNS root). */
function nameOf({ hostname }: URL): string {
  return hostname.replace(/\.$/, '');
}

function decoded(path: string): string {
  try {
    // What would begin a query or a fragment stays a part of the path, as it was.
    const text = decodeURIComponent(path).replace(/[?#]/g, encodeURIComponent);
    return new URL(`http://localhost${text}`).pathname;
  } catch {
    return path; // not UTF-8, or not a path any more
  }
}
