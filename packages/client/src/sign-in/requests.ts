import type { adviseOnArrival } from '../advice.js';
import type { LatchkeyError } from '../latchkey-error.js';
import type { ClientOptions } from '../options.js';
import type { Clock } from '../service/clock.js';
import type { Post } from '../service/post.js';
import type { base64url } from '../service/proof.js';
import type { Call } from '../service/service.js';
import type { Keys } from '../tokens/keys.js';
import type { exclusive } from '../tokens/exclusive.js';
import type { stored } from '../tokens/storage.js';
import type { TokenKeeper, Tokens } from '../tokens/tokens.js';
import type { RequestedSignIn, CallbackQuery, PendingSignIn, Report } from './callback.js';
import { deviceId, deviceName } from './device.js';

/**
 * Keys per browser. A sign-out removes the session's key; beyond this number, the oldest keys of other sessions are removed (tabs
 * that were closed, sessions that were replaced).
 */
const MAX_KEYS = 1000;

/** What the main file passes. This file, which is loaded with the dialog, imports nothing of it: shared code would become a third file. */
type Parts = readonly [
  Failure: typeof LatchkeyError,
  encode: typeof base64url,
  store: typeof stored,
  loadStepUp: () => Promise<typeof import('./step-up.js')>,
  /** Runs alone among refreshes and exchanges, in all tabs. */
  alone: (work: () => Promise<void>) => ReturnType<typeof exclusive<void>>,
  /** Undefined in the production build. */
  advise: typeof adviseOnArrival | undefined,
];

export type SignInRequests = ReturnType<typeof makeRequests>;

/** The requests of a sign-in to the service. */
export function makeRequests(
  [Failure, encode, store, loadStepUp, alone, advise]: Parts,
  { redirectUri, deviceName: device_name = deviceName() }: ClientOptions,
  call: Call,
  post: Post,
  report: Report,
  keys: Keys,
  clock: Clock,
  keeper: TokenKeeper,
) {
  /** Makes a PKCE verifier of 256 random bits, and its S256 challenge (RFC 7636). */
  const makePkce = async (): Promise<{ verifier: string; challenge: string }> => {
    if (!globalThis.crypto?.subtle)
      throw new Failure('insecure_context', 'Signing in needs https: or localhost.');
    const verifier = encode(crypto.getRandomValues(new Uint8Array(32)));
    const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
    return { verifier, challenge: encode(hash) };
  };
  return {
    /**
     * Step 1 of spec §1: asks for the address of the provider's page.
     * @throws LatchkeyError `insecure_context`, or the service's error
     */
    authorize: async (
      options: RequestedSignIn,
    ): Promise<{ url: string; sent: Omit<PendingSignIn, 'mode'> }> => {
      const { provider = '', email, loginHint = email, prompt, maxAge, acrValues, params, link } = options;
      const returnTo = location.href;
      if (link) return { url: link.url, sent: { ...link, verifier: '', options, returnTo } };
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
      if (!/^https?:/.test(url) || !state) throw new Failure('unexpected_answer');
      return {
        url,
        sent: { state, verifier, redirectUri: absolute, issuer, options, returnTo },
      };
    },
    /**
     * Steps 4 and 5 of spec §1: exchanges the code, and stores the tokens. The session is bound to a key, which is stored first,
     * unless the browser cannot keep keys or the service does not support proofs. A session that is replaced ends. The code of another
     * account is not for here.
     * @throws LatchkeyError the service's error; `other_user` if only one user may sign in
     */
    exchange: async ({ code, state, iss, at }: CallbackQuery, sent: PendingSignIn): Promise<void> => {
      const { verifier: code_verifier, issuer } = sent;
      const redirect_uri = arrivalOf(sent.redirectUri, at, advise);
      if (sent.options.link) {
        if (redirect_uri === sent.redirectUri) return;
        throw new Failure('invalid_state'); // the service cannot compare it (RFC 9700 §4.4)
      }
      const device_id = deviceId(store);
      const key = issuer && (await makeKey(keys, clock));
      const bound: Pick<Tokens, 'binding'> = issuer && key ? { binding: { issuer, key } } : {};
      const body = { code, state, iss, device_id, redirect_uri, code_verifier, device_name };
      const run = async (): Promise<void> => {
        const received_at = Date.now();
        const tokens = await post<Tokens>('/oauth2/token', body, () => bound.binding);
        const { provider, user } = sent.options;
        const own = { device_id, provider, received_at, signed_in_at: received_at };
        const current = user && (await loadStepUp()).replace(Failure, report, user, tokens, keeper.reload());
        keeper.put({ ...tokens, ...bound, ...own, ...current });
      };
      try {
        // The service may end the session before it answers, to make room for the new one: no tab may take this for a sign-out.
        await (keeper.get() ? alone(run) : run());
      } catch (error) {
        if (key) keys.remove(key);
        throw error;
      }
    },
  };
}

/** Makes and stores the key of a session. @returns its name; undefined if the browser cannot keep keys */
async function makeKey(keys: Keys, clock: Clock): Promise<string | undefined> {
  try {
    const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
    // Sorts by age, by the service's clock.
    const name = `${Math.floor(clock.now())}-${crypto.randomUUID()}`;
    await keys.add(name, pair, (all) => {
      const names = all.getAllKeys();
      names.onsuccess = () => {
        const oldest = names.result.at(1 - MAX_KEYS) as string | undefined;
        // Never the new key: right after a redirect the service's time is unknown.
        if (oldest && oldest < name) all.delete(IDBKeyRange.upperBound(oldest, true));
      };
    });
    return name;
  } catch {
    return undefined;
  }
}

/**
 * Returns the address at which the callback arrived, which the service compares with the one of the state (RFC 9700 §4.4). Equal
 * spellings count as the redirect URI: a server may add a slash, a file name, or the language as a prefix.
 */
function arrivalOf(redirectUri: string, at: readonly string[] = [], advise?: typeof adviseOnArrival): string {
  const [loaded = redirectUri] = at;
  const plain = (address: string): string => new URL(address).pathname.replace(/(\/index)?(\.html)?\/?$/, '');
  if (!at.length || at.some((one) => plain(one).endsWith(plain(redirectUri)))) return redirectUri;
  advise?.(loaded, redirectUri);
  return loaded;
}
