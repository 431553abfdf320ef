import { invalidToken } from '../latchkey-error.js';

/** Anything with headers: a `Request`, or Node.js's `IncomingMessage`, as frameworks extend it. */
export interface WithHeaders {
  readonly headers:
    | { get(name: string): string | null }
    | { readonly [name: string]: string | string[] | undefined };
}

const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const SCHEME = /^Bearer(?: |$)/i;

/**
 * Reads the token of the `Authorization` header (RFC 6750 §2.1); never of the query or the body.
 * @throws LatchkeyError `invalid_token`
 */
export function readBearerToken({ headers }: WithHeaders): string {
  const header =
    typeof headers.get === 'function'
      ? headers.get('authorization')
      : (headers as { authorization?: unknown }).authorization;
  const text = typeof header === 'string' ? header : '';
  const token = BEARER.exec(text)?.[1];
  if (token !== undefined) return token;
  if (SCHEME.test(text)) throw invalidToken('the Authorization header holds no bearer token');
  throw invalidToken('an access token is needed, as a bearer token', false);
}
