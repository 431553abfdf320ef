import { isThisMachine } from '../config/urls/urls.js';
import type { Settings } from '../config/settings/settings.js';

const OWN_ENDPOINTS = /^\/+(?:oauth2|providers)\//i;

/**
 * Whether a URI leads to an endpoint of the service itself, or of its sample provider: no client has its callback there,
 * and a code must not go round in circles (contract §4). The path is judged as servers and proxies may read it: as it is
 * or decoded, without dot segments, in any letter case. Any name for this machine counts.
 */
export function isOwnEndpoint(
  { publicUrl, port }: Pick<Settings, 'publicUrl' | 'port'>,
  uri: string,
): boolean {
  const [own, other] = [new URL(publicUrl), new URL(uri)];
  const isOurName = own.port === other.port && nameOf(own) === nameOf(other);
  const isHere = other.port === String(port) && isThisMachine(uri);
  return (isOurName || isHere) && readings(other.pathname).some((path) => OWN_ENDPOINTS.test(path));
}

/** The host name without the final dot (the DNS root). */
function nameOf({ hostname }: URL): string {
  return hostname.replace(/\.$/, '');
}

/** A path without dot segments: some readers decode nothing, and some first make one slash of many. */
function readings(path: string): string[] {
  // Each by itself: a stray % must not keep the others from being seen. What would begin a query or a fragment stays as it was,
  // and so does white space, which URL takes out of what it reads: ".%09." is no "..".
  const text = path.replace(/%(?!2[03]|3f)[2-7][\da-f]/gi, (code) =>
    String.fromCharCode(Number.parseInt(code.slice(1), 16)),
  );
  return [path, text, text.replace(/[/\\]+/g, '/')].map((one) => new URL(`http://localhost${one}`).pathname);
}
