import type { Cut } from '../../identity/claim-limits.js';
import { listClaim, type Claims } from '../../identity/claims.js';
import type { VerifiedToken } from '../../token/access-tokens/access-token.verifier.js';

/** Bytes of all headers: with the other headers of the answer, they fit into the 8 KiB that proxies read. */
export const MOST_BYTES = 7 * 1024;

/** Claims with a header. */
const WITH_HEADER: readonly string[] = ['preferred_username', 'email', 'roles', 'groups'];

interface Caller extends Pick<VerifiedToken, 'session' | 'username' | 'email'> {
  /** Program that acts for the user, and what it may do. */
  readonly program?: { readonly clientId: string; readonly scope: string };
}

interface IdentityHeaders {
  readonly headers: Readonly<Record<string, string>>;
  readonly cuts: readonly Cut[];
}

/**
 * Returns the headers for the API behind the proxy; empty ones replace what a client sent. Beyond MOST_BYTES,
 * a list is cut at its end, another value is left out: fewer rights, never more.
 * @param claims effective claims of the user; a name or an address there comes before that of the profile
 */
export function identityHeaders(
  { session: { userId, sessionId, deviceId }, username, email, program }: Caller,
  claims: Claims,
  withClaims: boolean,
): IdentityHeaders {
  const headers = {
    'X-Latchkey-User': userId,
    'X-Latchkey-Session': sessionId,
    'X-Latchkey-Device': deviceId ?? '',
    'X-Latchkey-Client': program ? encode(program.clientId) : '',
    'X-Latchkey-Scope': program ? program.scope.split(' ').map(encode).join(',') : '',
    'X-Latchkey-Username': '',
    'X-Latchkey-Email': '',
    'X-Latchkey-Roles': '',
    'X-Latchkey-Groups': '',
    'X-Latchkey-Claims': '',
  };
  let left = MOST_BYTES;
  for (const [name, value] of Object.entries(headers)) left -= name.length + value.length + 4; // `: `, CRLF
  const cuts: Cut[] = [];
  const put = (header: keyof typeof headers, name: string, values: readonly unknown[]): void => {
    const fitting: string[] = [];
    for (const value of values) {
      const text = encode(String(value));
      const bytes = text.length + (fitting.length > 0 ? 1 : 0);
      if (bytes > left) break;
      left -= bytes;
      fitting.push(text);
    }
    headers[header] = fitting.join(',');
    if (fitting.length < values.length) cuts.push({ name, fitting: fitting.length, of: values.length });
  };
  put('X-Latchkey-Username', 'preferred_username', textIn(claims['preferred_username'], username));
  put('X-Latchkey-Email', 'email', textIn(claims['email'], email));
  put('X-Latchkey-Roles', 'roles', listClaim(claims, 'roles'));
  put('X-Latchkey-Groups', 'groups', listClaim(claims, 'groups'));
  if (withClaims) headers['X-Latchkey-Claims'] = othersOf(claims, left, cuts);
  return { headers, cuts };
}

/** Returns the first text, in a list. */
function textIn(...values: readonly unknown[]): readonly unknown[] {
  return values.filter((value) => typeof value === 'string').slice(0, 1);
}

/** Returns claims without a header as base64url of JSON: the small ones, if not all have room. */
function othersOf(claims: Claims, left: number, cuts: Cut[]): string {
  const others = Object.entries(claims)
    .filter(([name]) => !WITH_HEADER.includes(name))
    .map(([name, value]) => ({ name, json: `${JSON.stringify(name)}:${JSON.stringify(value)}` }))
    .toSorted((a, b) => a.json.length - b.json.length);
  let bytes = 1; // braces, and a comma for each but the first
  const fitting = others.filter(({ name, json }) => {
    const more = Buffer.byteLength(json) + 1;
    const fits = Math.ceil(((bytes + more) * 4) / 3) <= left;
    if (fits) bytes += more;
    else cuts.push({ name, fitting: 0, of: 1 });
    return fits;
  });
  if (fitting.length === 0) return '';
  return Buffer.from(`{${fitting.map(({ json }) => json).join(',')}}`).toString('base64url');
}

/** Encodes all but letters, digits, `@` and `-_.!~*'()`. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll('%40', '@');
}
