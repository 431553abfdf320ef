import type { WithHeaders } from '../token/bearer.js';
import { headerOf } from './page-request.js';

/** Browsers store 4,096 bytes of name, value and attributes (RFC 6265bis §5.6). */
const LONGEST_VALUE = 4000;

/**
 * Returns the cookies of a request with this beginning of the name, in the request's order: older ones are first (RFC 6265 §5.4).
 * Only space and tab are around a cookie (RFC 6265 §5.2): a sibling host may set a name that begins with another white space, such as
 * U+00A0, and `__Host-` would not protect ours.
 */
export function cookiesOf(request: WithHeaders, beginning: string): Map<string, string> {
  const cookies = new Map<string, string>();
  for (const part of (headerOf(request, 'cookie') ?? '').split(';')) {
    const [, name, value] = /^[ \t]*([^=\s]+)=([\w-]*)[ \t]*$/.exec(part) ?? [];
    if (!name?.startsWith(beginning) || value!.length > LONGEST_VALUE || cookies.has(name)) continue;
    cookies.set(name, value!);
  }
  return cookies;
}

/**
 * Returns a `Set-Cookie` header. With `__Host-` no other host, and no connection without TLS, can set or read the cookie; `Lax`: a link
 * from another site brings it, a form of another site does not.
 * @param maxAge seconds; 0 removes the cookie
 */
export function setCookie(name: string, value: string, maxAge: number): string {
  return `${name}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; Secure; SameSite=Lax`;
}

export function removeCookie(name: string): string {
  return setCookie(name, '', 0);
}
