import type { Latchkey } from '../latchkey.js';
import { withBearer } from '../service/bearer-fetch.js';
import type { Call } from '../service/service.js';
import type { Refresher } from './refresher.js';
import type { TokenKeeper } from './tokens.js';

/** Seconds of remaining life with which a token is used for a sign-out as it is. */
const ENOUGH = 30;

/**
 * Asks the service to end sessions.
 * @param isOurs whether this session is among them: it ends here even if the service cannot be reached
 * @returns the answer; undefined for 204, and without a request if the user has signed out or changed
 */
export type Leave = <Answer>(
  method: string,
  path: string,
  isOurs: boolean,
  body?: object,
) => Promise<Answer | undefined>;

/** @param notifyTabs called once the service has ended this session */
export function makeLeave(
  call: Call,
  keeper: TokenKeeper,
  { fresh }: Refresher,
  notifyTabs: () => void,
): Leave {
  return async <Answer>(method: string, path: string, isOurs: boolean, body?: object) => {
    const saved = keeper.get();
    // The page may be left at once: a refresh that is due but not needed is not waited for.
    const isGood = saved && saved.expires_in - keeper.age() > ENOUGH;
    const token = isGood ? Promise.resolve(saved.access_token) : fresh();
    await token.catch(() => undefined);
    if (!saved || keeper.get()?.user_id !== saved.user_id) return undefined;
    // Before the call: otherwise other tabs would report a sign-out by the service.
    if (isOurs) keeper.end('user');
    const bearer = await token;
    const answer = await call<Answer>(method, path, body, (request) => fetch(withBearer(request, bearer)));
    if (isOurs) notifyTabs();
    return answer;
  };
}

/** @param page undefined outside of a browser: then the provider's page cannot be shown */
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
