import { invalidToken } from './latchkey-error.js';

/** Anything with headers: a `Request`, or Node.js's `IncomingMessage` and what frameworks make of it. */
export interface WithHeaders {
  readonly headers:
    { get(name: string): string | null } | { readonly [name: string]: string | string[] | undefined };
}

const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const SCHEME = /^Bearer(?: |$)/i;

/**
 * The token of the `Authorization` header (RFC 6750 §2.1); it is read from nowhere else.
 * @throws LatchkeyError `invalid_token`
 */
export function readBearerToken({ headers }: WithHeaders): string {
  const header = typeof headers.get === 'function' ? headers.get('authorization') : fromNode(headers);
  const token = BEARER.exec(header ?? '')?.[1];
  if (token !== undefined) return token;
  if (SCHEME.test(header ?? '')) throw invalidToken('the Authorization header holds no bearer token');
  throw invalidToken('an access token is needed, as a bearer token', false);
}

function fromNode(headers: object): string | undefined {
  const { authorization } = headers as { authorization?: unknown };
  return typeof authorization === 'string' ? authorization : undefined;
}
