import type { Refresher } from './refresher.js';
import type { TokenKeeper } from './tokens.js';

/** Seconds. A token younger than this is not replaced when it is refused: a service may be refusing all of them. */
const YOUNG = 60;

/**
 * `fetch` with the bearer token (RFC 6750 §2.1) for listed origins, and unchanged for all others. Redirects are followed
 * as the caller's `redirect` says, since an API of the application may have them. A redirect to another origin is followed
 * without the token: the Fetch standard sees to that (HTTP-redirect fetch, step 13), and a test checks it in a browser.
 * @param base of relative addresses, where there is no page
 */
export function bearerFetch(
  origins: readonly string[],
  base: string,
  keeper: TokenKeeper,
  { fresh, refresh }: Refresher,
): (input: RequestInfo | URL, init?: RequestInit) => Promise<Response> {
  return async (input, init) => {
    const address = typeof input === 'string' ? new URL(input, globalThis.document?.baseURI ?? base) : input;
    const request = new Request(address, init);
    const isListed = origins.includes(new URL(request.url).origin);
    if (!isListed || !keeper.get() || request.headers.has('Authorization')) return fetch(request);
    const again = request.clone();
    const token = await fresh();
    const response = await fetch(withBearer(request, token));
    // A token may have been withdrawn before its time, with the key that signed it (contract §5).
    // After a redirect, a 401 says nothing about the token, which may not have been sent.
    if (response.status !== 401 || response.redirected || keeper.age() < YOUNG) return response;
    const other = await refresh(token).catch(() => undefined);
    return other ? fetch(withBearer(again, other)) : response;
  };
}

export function withBearer(request: Request, token: string): Request {
  request.headers.set('Authorization', `Bearer ${token}`);
  return request;
}
