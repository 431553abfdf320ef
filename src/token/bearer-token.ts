// RFC 6750 §2.1. This is about the form only; the token itself is verified elsewhere.
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const SCHEME = /^Bearer(?: |$)/i;

/** The token of an `Authorization` header, or undefined where it holds no bearer token. */
export function readBearerToken(header = ''): string | undefined {
  return BEARER.exec(header)?.[1];
}

/** Whether an `Authorization` header is of the scheme Bearer, whatever follows. */
export function isOfSchemeBearer(header = ''): boolean {
  return SCHEME.test(header);
}
