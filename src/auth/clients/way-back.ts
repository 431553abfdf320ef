import { parseCookie, stringifySetCookie } from 'cookie';
import type { Request } from 'express';
import type { Settings } from '../../platform/config/settings/settings.js';
import { isHttpUri } from '../../platform/config/urls/urls.js';
import { allowsRedirectUri } from '../../provider/redirect-uris.js';
import { isOwnEndpoint } from '../service-endpoint.js';

/** Redirect URI of the sign-in that this browser began last; it needs no signature: see `findWayBack`. */
const COOKIE = 'latchkey_return';
const PATH = '/providers';
/** Seconds: a restored tab may be a day old. */
const COOKIE_LIFE = 86_400;
const LONGEST = 2000;

/** Returns the cookie for a page of a callback that cannot go on; undefined for a client that is no page. */
export function buildReturnCookie(redirectUri: string, isSecure: boolean): string | undefined {
  if (!isHttpUri(redirectUri) || redirectUri.length > LONGEST) return undefined;
  const value = redirectUri.replace(/[?#][^]*$/, '');
  const options = { path: PATH, maxAge: COOKIE_LIFE, httpOnly: true, sameSite: 'lax' } as const;
  return stringifySetCookie({ name: COOKIE, value, ...options, secure: isSecure });
}

/**
 * Returns the address of the application to which a page may link, if it is trusted: on the host of an
 * allowed redirect URI that this browser has used, else the only host in REDIRECT_URIS.
 */
export function findWayBack(settings: Settings, { headers }: Request): string | undefined {
  const used = parseCookie(headers.cookie ?? '')[COOKIE];
  const list = (settings.redirectUris ?? []).filter(isHttpUri);
  const origins = new Set(list.map((uri) => new URL(uri).origin));
  const isAllowed = (uri: string): boolean =>
    isHttpUri(uri) &&
    !isOwnEndpoint(settings, uri) &&
    (allowsRedirectUri(settings, {}, uri) || list.some((one) => one.startsWith(`${uri}?`)));
  if (used !== undefined && isAllowed(used)) return `${new URL(used).origin}/`;
  return origins.size === 1 ? `${[...origins][0]}/` : undefined;
}
