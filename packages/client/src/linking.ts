import type { LatchkeyError } from './latchkey-error.js';
import type { Identities, Identity } from './identity.js';
import type { Latchkey } from './latchkey.js';
import type { ClientOptions } from './options.js';
import type { Post } from './service/post.js';
import type { Call } from './service/service.js';
import type { CallbackQuery } from './sign-in/callback.js';
import type { SignIn } from './sign-in/sign-in.js';
import type { TokenKeeper } from './tokens/tokens.js';

const PATH = '/me/identities';
/** Milliseconds; the service wants a sign-in of the last five minutes. */
const RECENT = 290_000;

export interface Linking extends Pick<Latchkey, 'identities' | 'link' | 'unlink' | 'mergeUser'> {
  /** Joins the account of a provider's answer. */
  readonly complete: (answer: Promise<CallbackQuery | undefined>) => Promise<Identity>;
}

/**
 * The calls about accounts of several providers. This file is loaded with the first one, and imports nothing of the main file.
 * @param Failure LatchkeyError
 * @param api calls the service with the token
 * @param post sends a body to the service with a proof
 * @param authorizedFetch adds the token, and asks the user to sign in again if the service wants it
 * @param start shows the provider's page
 */
export function makeLinking(
  Failure: typeof LatchkeyError,
  api: Call,
  keeper: TokenKeeper,
  post: Post,
  authorizedFetch: (request: Request) => Promise<Response>,
  start: SignIn['start'],
  { redirectUri, storage, askAgain }: ClientOptions,
): Linking {
  const send = async <Answer>(method: 'POST' | 'DELETE', path: string, body?: object): Promise<Answer> => {
    const { access_token, provider, user_id: user, signed_in_at: since } = keeper.get() ?? {};
    // A provider that reports no `auth_time` refuses `max_age`, by which `authorizedFetch` asks: any new sign-in will do.
    if (
      globalThis.document &&
      user &&
      askAgain !== false &&
      Date.now() - since! > RECENT &&
      !hasAuthTime(access_token!)
    )
      await start({ provider, user, prompt: 'login' }, true);
    return post(path, body, () => keeper.get()?.binding, authorizedFetch, method);
  };
  const complete = async (query: CallbackQuery | undefined): Promise<Identity> => {
    const { code, state, iss } = query ?? {};
    return send('POST', `${PATH}/complete`, { code, state, iss });
  };
  return {
    identities: () => api<Identities>('GET', PATH),
    // The service is asked before the page of the provider is shown: it may want a newer sign-in, which has a page of its own.
    async link(provider) {
      if (!globalThis.document) throw new Failure('no_browser');
      const redirect_uri = new URL(redirectUri.replace('{provider}', provider), document.baseURI).href;
      const begun = await send<{ redirect_url: string; state: string }>('POST', PATH, {
        provider,
        redirect_uri,
      });
      const { redirect_url: url, state } = begun;
      if (!/^https?:/.test(url) || !state) throw new Failure('unexpected_answer');
      const mode = storage === 'memory' ? { mode: 'popup' as const } : {}; // the session ends with this page
      const query = await start({ provider, ...mode, link: { url, state, redirectUri: redirect_uri } });
      if (query?.state !== state) throw new Failure('cancelled'); // a sign-in was in progress
      return complete(query);
    },
    complete: async (answer) => complete(await answer),
    unlink: (provider) => send('DELETE', `${PATH}/${encodeURIComponent(provider)}`),
    async mergeUser(merge_token) {
      return (await send<{ former_user_id: string }>('POST', `${PATH}/merge`, { merge_token }))
        .former_user_id;
    },
  };
}

/** Whether an access token says when the user authenticated. */
function hasAuthTime(token: string): boolean {
  try {
    const claims = JSON.parse(atob(token.split('.')[1]!.replace(/-/g, '+').replace(/_/g, '/'))) as object;
    return 'auth_time' in claims;
  } catch {
    return false;
  }
}
