import { adviseOnChallenge, adviseOnOrigin, IS_DEVELOPMENT } from '../advice.js';
import { LatchkeyError, noAnswer } from '../latchkey-error.js';
import type { Refresher } from '../tokens/refresher.js';
import type { TokenKeeper } from '../tokens/tokens.js';

/**
 * `fetch` with the bearer token (RFC 6750 §2.1) for listed origins, and unchanged for all others. Redirects are followed as the
 * caller's `redirect` says; the Fetch standard removes the token from a redirect to another origin (HTTP-redirect fetch, step 13).
 * @param origins the service's, then the application's
 * @param base of relative addresses if there is no page
 * @param renew replaces the token of a request that got a 401, if that can help
 */
export function bearerFetch(
  origins: readonly string[],
  base: string,
  keeper: TokenKeeper,
  { fresh }: Refresher,
  renew: (answer: Response, token: string) => Promise<unknown>,
): (input: RequestInfo | URL, init?: RequestInit) => Promise<Response> {
  return async (input, init) => {
    const request = makeRequest(input, base, init);
    const { origin } = new URL(request.url);
    const isListed = origins.includes(origin);
    const isWithout = !keeper.get() || request.headers.has('Authorization');
    if (IS_DEVELOPMENT && !isListed && !isWithout) adviseOnOrigin(origin, origins.slice(1));
    if (!isListed || isWithout) return send(request);
    const again = request.clone();
    const { user_id } = keeper.get()!;
    const access_token = await fresh();
    const response = await send(withBearer(request, access_token));
    // A 401 after a redirect says nothing about the token, which may not have been sent.
    if (response.status !== 401 || response.redirected) return response;
    if (IS_DEVELOPMENT && response.type === 'cors' && !response.headers.get('WWW-Authenticate'))
      adviseOnChallenge(origin);
    const other = await renew(response, access_token)
      .then(fresh) // a tab may have been frozen until the new token expired
      .catch(() => keeper.get()?.access_token); // another tab may have stored a token
    // A request is never repeated with the token of another user.
    const isSameUser = keeper.get()?.user_id === user_id;
    return isSameUser && other && other !== access_token ? send(withBearer(again, other)) : response;
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

/** @throws LatchkeyError `network`; or the reason with which the caller's signal aborted the request */
async function send(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (error) {
    throw request.signal.aborted ? error : noAnswer(error);
  }
}

export function withBearer(request: Request, token: string): Request {
  request.headers.set('Authorization', `Bearer ${token}`);
  return request;
}
