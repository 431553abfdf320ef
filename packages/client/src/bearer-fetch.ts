import { adviseOnOrigin, IS_DEVELOPMENT } from './advice.js';
import { LatchkeyError } from './latchkey-error.js';
import type { Refresher } from './refresher.js';
import type { TokenKeeper } from './tokens.js';

/** Seconds. A token younger than this is not replaced when it is refused: a service may be refusing all of them. */
const YOUNG = 60;

/**
 * `fetch` with the bearer token (RFC 6750 §2.1) for listed origins, and unchanged for all others. Redirects are followed
 * as the caller's `redirect` says, since an API of the application may have them. A redirect to another origin is followed
 * without the token: the Fetch standard sees to that (HTTP-redirect fetch, step 13), and a test checks it in a browser.
 * @param origins the service's, and those that the application has listed
 * @param base of relative addresses, where there is no page
 */
export function bearerFetch(
  origins: readonly string[],
  base: string,
  keeper: TokenKeeper,
  { fresh, refresh }: Refresher,
): (input: RequestInfo | URL, init?: RequestInit) => Promise<Response> {
  return async (input, init) => {
    const request = makeRequest(input, base, init);
    const { origin } = new URL(request.url);
    const isListed = origins.includes(origin);
    const isWithout = !keeper.get() || request.headers.has('Authorization');
    if (IS_DEVELOPMENT && !isListed && !isWithout) adviseOnOrigin(origin, origins.slice(1));
    if (!isListed || isWithout) return send(request);
    const again = request.clone();
    const { user_id } = keeper.get()!; // now: a moment later it may be another one's session
    const access_token = await fresh();
    const response = await send(withBearer(request, access_token));
    // A token may have been withdrawn before its time, with the key that signed it (contract §5).
    // After a redirect, a 401 says nothing about the token, which may not have been sent.
    if (response.status !== 401 || response.redirected) return response;
    // A younger one may have replaced it meanwhile, for another request or by another tab.
    if (keeper.get()?.access_token === access_token && keeper.age() < YOUNG) return response;
    const other = await refresh(access_token)
      .then(fresh) // a tab may have been frozen for as long as the other one lives
      .catch(() => keeper.get()?.access_token); // or while it asked: another tab may have got one meanwhile
    // Nobody's request is repeated for who has signed in meanwhile.
    const isTheirs = keeper.get()?.user_id === user_id;
    return isTheirs && other && other !== access_token ? send(withBearer(again, other)) : response;
  };
}

function makeRequest(input: RequestInfo | URL, base: string, init?: RequestInit): Request {
  try {
    const address = typeof input === 'string' ? new URL(input, globalThis.document?.baseURI ?? base) : input;
    return new Request(address, init);
  } catch (error) {
    throw new LatchkeyError('invalid_request', String(error));
  }
}

/** @throws LatchkeyError `network`; or the reason by which the caller's own signal has aborted it */
async function send(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (error) {
    throw request.signal.aborted ? error : new LatchkeyError('network', String(error));
  }
}

export function withBearer(request: Request, token: string): Request {
  request.headers.set('Authorization', `Bearer ${token}`);
  return request;
}
