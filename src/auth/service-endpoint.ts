import { isThisMachine } from '../platform/config/urls/urls.js';
import type { ProviderSettings, Settings } from '../platform/config/settings/settings.js';
import { OAuthError } from '../platform/errors/oauth-error.js';
import { allowsRedirectUri } from '../provider/redirect-uris.js';

const OWN_ENDPOINTS = /^\/+(?:oauth2|providers)\//i;

/** @throws OAuthError `invalid_request` if clients may not receive codes at the URI */
export function checkAllowed(
  settings: Settings,
  provider: Pick<ProviderSettings, 'redirectUris'>,
  uri: string,
): void {
  if (!allowsRedirectUri(settings, provider, uri)) {
    throw new OAuthError('invalid_request', 'redirect_uri is not on the allow-list', {
      reason: `redirect_uri is not on the list: ${withoutQuery(uri)}`,
    });
  }
  if (isOwnEndpoint(settings, uri)) {
    throw new OAuthError('invalid_request', 'redirect_uri is an endpoint of this service', {
      reason: `redirect_uri is an endpoint of this service: ${withoutQuery(uri)}`,
    });
  }
}

/** Returns a URI for the audit trail: its query or fragment may have a code. */
export function withoutQuery(uri: string): string {
  return uri.replace(/[?#][^]*$/, '');
}

/**
 * Whether a URI leads to an endpoint of the service or of its built-in provider: a code must not go in
 * circles. The path is read as servers and proxies may read it: as it is or decoded, without dot segments, in
 * any letter case.
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
  // One at a time, so that a stray % does not hide the others. Encoded `?`, `#` and white space stay: URL
  // would cut or drop them.
  const text = path.replace(/%(?!2[03]|3f)[2-7][\da-f]/gi, (code) =>
    String.fromCharCode(Number.parseInt(code.slice(1), 16)),
  );
  return [path, text, text.replace(/[/\\]+/g, '/')].map((one) => new URL(`http://localhost${one}`).pathname);
}
