import { withBearer } from './bearer-fetch.js';
import type { Latchkey } from './latchkey.js';
import type { Refresher } from './refresher.js';
import type { Call } from './service.js';
import type { TokenKeeper } from './tokens.js';

/** Seconds for which a token has to be valid, so that a sign-out need not wait for another one. */
const ENOUGH = 30;

/**
 * Tells the service to end sessions.
 * @param isOurs whether this one is among them: it ends here even if the service cannot be told
 * @returns what the service answered; undefined for 204, and when nobody is signed in, or another user by then
 */
export type Leave = <Answer>(
  method: string,
  path: string,
  isOurs: boolean,
  body?: object,
) => Promise<Answer | undefined>;

/** @param tell notifies the other tabs that a session has ended */
export function makeLeave(call: Call, keeper: TokenKeeper, { fresh }: Refresher, tell: () => void): Leave {
  return async <Answer>(method: string, path: string, isOurs: boolean, body?: object) => {
    const held = keeper.get();
    // Whoever signs out may leave the page at once, and the service may be slow: a refresh that is only due is not waited for.
    const isGood = held && held.expires_in - keeper.age() > ENOUGH;
    const token = isGood ? Promise.resolve(held.access_token) : fresh();
    await token.catch(() => undefined);
    // Nobody is signed in (any more), or another user, whose session this is not about.
    if (!held || keeper.get()?.user_id !== held.user_id) return undefined;
    // Before the call: otherwise a tab would take what the service says next for a sign-out by somebody else.
    if (isOurs) keeper.end('user');
    const bearer = await token;
    const answer = await call<Answer>(method, path, body, (request) => fetch(withBearer(request, bearer)));
    if (isOurs) tell(); // for tabs with a session of their own: now the service knows
    return answer;
  };
}

/** @param page undefined outside of one: there is no way to the provider then */
export function makeSignOut(leave: Leave, page?: Document): Latchkey['signOut'] {
  return async (wanted = 'current') => {
    const { scope, provider, redirectUri = '/' } = typeof wanted === 'string' ? { scope: wanted } : wanted;
    const answer = await leave<{ redirect_url?: string }>('POST', '/sign-out', scope !== 'others', {
      scope,
      ...(page && provider && { provider_logout: { redirect_uri: new URL(redirectUri, page.baseURI).href } }),
    });
    const { redirect_url: url = '' } = answer ?? {};
    if (/^https?:/.test(url)) location.assign(url);
  };
}
