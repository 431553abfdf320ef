import { LatchkeyError, orNetworkError } from '../latchkey-error.js';
import type { ClientOptions, Provider, SignInMode } from '../options.js';
import type { Post } from '../service/post.js';
import { base64url } from '../service/proof.js';
import type { Call } from '../service/service.js';
import { sleep } from '../service/timer.js';
import type { Keys } from '../tokens/keys.js';
import type { TokenKeeper, Tokens } from '../tokens/tokens.js';
import { advise, IS_DEVELOPMENT } from '../advice.js';
import type { Asked, CallbackQuery, PendingSignIn, Report } from './callback.js';
import { deviceId, deviceName } from './device.js';

/** Seconds: a click must not wait longer. */
const MODE_TIMEOUT = 3;

export type SignInRequests = ReturnType<typeof makeRequests>;

/** Loads the file about new sign-ins in place of a session. @throws LatchkeyError `network` */
export const loadStepUp = (): Promise<typeof import('./step-up.js')> =>
  orNetworkError(import('./step-up.js'));

/** The requests of a sign-in to the service. */
export function makeRequests(
  { redirectUri, deviceName: device_name = deviceName() }: ClientOptions,
  call: Call,
  post: Post,
  report: Report,
  keys: Keys,
  keeper: TokenKeeper,
) {
  let known: Provider[] = [];
  let loading: Promise<Provider[]> | undefined;
  /** The browser caches the answer for 300 s (contract §4). */
  const load = async (): Promise<Provider[]> => {
    try {
      const { providers } = await call<{ providers: Provider[] }>('GET', '/oauth2/providers');
      if (!Array.isArray(providers)) throw new LatchkeyError('unexpected_answer');
      return (known = providers);
    } catch (error) {
      loading = undefined; // the next call tries again
      throw error;
    }
  };
  const providers = (): Promise<Provider[]> => (loading ??= load());
  const knownMode = (provider?: string): SignInMode | undefined => {
    const mode = known.find(({ name }) => name === provider)?.mode;
    return /^(iframe|popup|redirect)$/.test(mode!) ? mode : undefined;
  };
  return {
    providers,
    /** Returns the only enabled provider, if that is known already. */
    onlyProvider: () => (known.length === 1 ? known[0]!.name : undefined),
    /** Returns the provider's mode if it is known already: browsers open windows only during a click. */
    knownMode,
    /** Asks for the provider's mode; `iframe` without an answer in 3 s. Never rejects. */
    askMode: async (provider: string): Promise<SignInMode> => {
      await Promise.race([providers().catch(() => undefined), sleep(MODE_TIMEOUT)]);
      return knownMode(provider) ?? 'iframe';
    },
    /**
     * Step 1 of spec §1: asks for the address of the provider's page.
     * @throws LatchkeyError `insecure_context`, or the service's error
     */
    authorize: async (options: Asked): Promise<{ url: string; sent: Omit<PendingSignIn, 'mode'> }> => {
      const { provider = '', loginHint, prompt, maxAge, acrValues, params } = options;
      const absolute = new URL(redirectUri.replace('{provider}', provider), document.baseURI).href;
      const { verifier, challenge } = await makePkce();
      const query = new URLSearchParams();
      const all = {
        provider,
        login_hint: loginHint,
        prompt,
        max_age: maxAge,
        acr_values: acrValues,
        ...params,
        redirect_uri: absolute,
        code_challenge: challenge,
        code_challenge_method: 'S256',
      };
      for (const [name, value] of Object.entries(all)) if (value != null) query.set(name, String(value));
      const answer = await call<{ redirect_url: string; state: string; issuer?: string }>(
        'GET',
        `/oauth2/authorize?${query.toString()}`,
      );
      const { redirect_url: url, state, issuer } = answer;
      if (!/^https?:/.test(url) || !state) throw new LatchkeyError('unexpected_answer');
      return {
        url,
        sent: { state, verifier, redirectUri: absolute, issuer, options, returnTo: location.href },
      };
    },
    /**
     * Steps 4 and 5 of spec §1: exchanges the code, and stores the tokens. The session is bound to a key, which is stored first,
     * unless the browser cannot keep keys or the service does not support proofs. A session that is replaced ends.
     * @throws LatchkeyError the service's error; `other_user` if only one user may sign in
     */
    exchange: async ({ code, state, iss, at }: CallbackQuery, sent: PendingSignIn): Promise<void> => {
      const { verifier: code_verifier, issuer } = sent;
      const redirect_uri = arrivalOf(sent.redirectUri, at);
      const device_id = deviceId();
      const key = issuer && (await keys.make());
      const bound = issuer && key ? { binding: { issuer, key } } : {};
      const body = { code, state, iss, device_id, redirect_uri, code_verifier, device_name };
      const received_at = Date.now();
      try {
        const tokens = await post<Tokens>('/oauth2/token', body, bound.binding);
        const { provider, user } = sent.options;
        const own = { device_id, provider, received_at, signed_in_at: received_at };
        const kept =
          user && (await loadStepUp()).replace(LatchkeyError, report, user, tokens, keeper.reload());
        keeper.put({ ...tokens, ...bound, ...own, ...(kept || {}) });
      } catch (error) {
        if (key) keys.remove(key);
        throw error;
      }
    },
  };
}

/**
 * Returns the address at which the callback arrived, which the service compares with the one of the state (RFC 9700 §4.4). Equal
 * spellings count as the redirect URI: a server may add a slash, a file name, or the language as a prefix.
 */
function arrivalOf(redirectUri: string, at: readonly string[] = []): string {
  const [loaded = redirectUri] = at;
  const plain = (address: string): string => new URL(address).pathname.replace(/(\/index)?(\.html)?\/?$/, '');
  if (!at.length || at.some((one) => plain(one).endsWith(plain(redirectUri)))) return redirectUri;
  if (IS_DEVELOPMENT)
    advise(`The callback arrived at ${loaded}, but redirectUri is ${redirectUri}: sign-in is refused.`);
  return loaded;
}

/** Makes a PKCE verifier of 256 random bits, and its S256 challenge (RFC 7636). */
async function makePkce(): Promise<{ verifier: string; challenge: string }> {
  if (!globalThis.crypto?.subtle) throw new LatchkeyError('insecure_context');
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  return { verifier, challenge: base64url(hash) };
}
