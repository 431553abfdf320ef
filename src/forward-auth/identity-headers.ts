import { OAuthError } from '../errors/oauth-error.js';
import type { SessionIds } from '../events.js';
import { listClaim, type Claims } from '../identity/claims.js';

/** Bytes of all headers: with the other headers of the answer, they fit into the 8 KiB that proxies read. */
const MOST_BYTES = 7 * 1024;

/** Claims with a header. */
const WITH_HEADER: readonly string[] = ['preferred_username', 'email', 'roles', 'groups'];

/**
 * Returns the headers for the API behind the proxy. A header without a value is empty, so that the proxy
 * replaces what a client sent.
 * @param claims effective claims of the user
 * @throws OAuthError `server_error` if the headers are too large
 */
export function identityHeaders(
  { userId, sessionId, deviceId }: SessionIds,
  claims: Claims,
  withClaims: boolean,
): Readonly<Record<string, string>> {
  const headers = {
    'X-Latchkey-User': userId,
    'X-Latchkey-Session': sessionId,
    'X-Latchkey-Device': deviceId ?? '',
    'X-Latchkey-Username': textOf(claims['preferred_username']),
    'X-Latchkey-Email': textOf(claims['email']),
    'X-Latchkey-Roles': listOf(claims, 'roles'),
    'X-Latchkey-Groups': listOf(claims, 'groups'),
    'X-Latchkey-Claims': withClaims ? othersOf(claims) : '',
  };
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) bytes += name.length + value.length + 4; // `: `, CRLF
  if (bytes <= MOST_BYTES) return headers;
  const cause = new Error(`headers of user ${userId} have ${bytes} bytes, ${MOST_BYTES} at most`);
  throw new OAuthError('server_error', 'the claims of this user are too large for headers', { cause });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? encode(value) : '';
}

function listOf(claims: Claims, name: string): string {
  return listClaim(claims, name)
    .map((member) => encode(String(member)))
    .join(',');
}

/** Claims without a header, as base64url of JSON. */
function othersOf(claims: Claims): string {
  const others = Object.entries(claims).filter(([name]) => !WITH_HEADER.includes(name));
  if (others.length === 0) return '';
  return Buffer.from(JSON.stringify(Object.fromEntries(others))).toString('base64url');
}

/** Encodes all but letters, digits, `@` and `-_.!~*'()`. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll('%40', '@');
}
