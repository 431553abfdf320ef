import { LatchkeyError } from '../latchkey-error.js';
import type { ClientOptions, SignInMode } from '../options.js';
import type { Post } from '../service/post.js';
import { base64url } from '../service/proof.js';
import type { Call } from '../service/service.js';
import { sleep } from '../service/timer.js';
import type { Keys } from '../tokens/keys.js';
import type { TokenKeeper, Tokens } from '../tokens/tokens.js';
import type { CallbackQuery, PendingSignIn } from './callback.js';
import { deviceId, deviceName } from './device.js';

/** Seconds: a click must not wait longer. */
const MODE_TIMEOUT = 3;

export type SignInRequests = ReturnType<typeof makeRequests>;

/** The requests of a sign-in to the service. */
export function makeRequests(
  { provider, redirectUri, deviceName: device_name = deviceName() }: ClientOptions,
  call: Call,
  post: Post,
  keys: Keys,
  keeper: TokenKeeper,
) {
  let known: SignInMode | undefined;
  /** The browser caches the answer for 300 s (contract §4). */
  const loadMode = async (): Promise<void> => {
    const { providers } = await call<{ providers: { name: string; mode: string }[] }>(
      'GET',
      '/oauth2/providers',
    );
    const mode = providers.find(({ name }) => name === provider)?.mode;
    if (/^(iframe|popup|redirect)$/.test(mode!)) known = mode as SignInMode;
  };
  return {
    /** Returns the provider's mode if it is known already: browsers open windows only during a click. */
    knownMode: () => known,
    /** Asks for the provider's mode; `iframe` without an answer in 3 s. Never rejects. */
    askMode: async (): Promise<SignInMode> => {
      await Promise.race([loadMode().catch(() => undefined), sleep(MODE_TIMEOUT)]);
      return known ?? 'iframe';
    },
    /**
     * Step 1 of spec §1: asks for the address of the provider's page.
     * @throws LatchkeyError `insecure_context`, or the service's error
     */
    authorize: async (): Promise<{ url: string; sent: Omit<PendingSignIn, 'mode'> }> => {
      const absolute = new URL(redirectUri, document.baseURI).href;
      const { verifier, challenge } = await makePkce();
      const query = new URLSearchParams({
        provider,
        redirect_uri: absolute,
        code_challenge: challenge,
        code_challenge_method: 'S256',
      });
      const answer = await call<{ redirect_url: string; state: string; issuer?: string }>(
        'GET',
        `/oauth2/authorize?${query.toString()}`,
      );
      const { redirect_url: url, state, issuer } = answer;
      if (!/^https?:/.test(url) || !state) throw new LatchkeyError('unexpected_answer');
      return { url, sent: { state, verifier, redirectUri: absolute, issuer, returnTo: location.href } };
    },
    /**
     * Steps 4 and 5 of spec §1: exchanges the code, and stores the tokens. The session is bound to a key, which is stored first,
     * unless the browser cannot keep keys or the service does not support proofs.
     * @throws LatchkeyError the service's error
     */
    exchange: async ({ code, state, iss }: CallbackQuery, sent: PendingSignIn): Promise<void> => {
      const { redirectUri: redirect_uri, verifier: code_verifier, issuer } = sent;
      const device_id = deviceId();
      const key = issuer && (await keys.make());
      const bound = issuer && key ? { binding: { issuer, key } } : {};
      const body = { code, state, iss, device_id, redirect_uri, code_verifier, device_name };
      const received_at = Date.now();
      try {
        const tokens = await post<Tokens>('/oauth2/token', body, bound.binding);
        keeper.put({ ...tokens, ...bound, device_id, received_at, signed_in_at: received_at });
      } catch (error) {
        if (key) keys.remove(key);
        throw error;
      }
    },
  };
}

/** Makes a PKCE verifier of 256 random bits, and its S256 challenge (RFC 7636). */
async function makePkce(): Promise<{ verifier: string; challenge: string }> {
  if (!globalThis.crypto?.subtle) throw new LatchkeyError('insecure_context');
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  return { verifier, challenge: base64url(hash) };
}
