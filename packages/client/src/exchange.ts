import type { Begun } from './callback.js';
import { deviceId } from './device.js';
import type { CallbackQuery } from './handover.js';
import type { Keys } from './keys.js';
import type { Post } from './post.js';
import type { TokenKeeper, Tokens } from './tokens.js';

/**
 * Steps 4 and 5 of spec §1: exchanges the code, and keeps the tokens. The session is bound to a key, which is stored before the
 * tokens are asked for; unless this browser cannot keep one, or the service knows of no proofs.
 * @throws LatchkeyError what the service answered
 */
export type Exchange = (query: CallbackQuery, sent: Begun) => Promise<void>;

export function makeExchange(deviceName: string, post: Post, keys: Keys, keeper: TokenKeeper): Exchange {
  return async ({ code, state, iss }, { redirectUri, verifier, issuer }) => {
    const device_id = deviceId();
    const key = issuer && (await keys.make());
    const bound = issuer && key ? { binding: { issuer, key } } : {};
    const body = {
      code,
      state,
      iss,
      device_id,
      redirect_uri: redirectUri,
      code_verifier: verifier,
      device_name: deviceName,
    };
    const received_at = Date.now();
    try {
      const tokens = await post<Tokens>('/oauth2/token', body, bound.binding);
      keeper.put({ ...tokens, ...bound, device_id, received_at, signed_in_at: received_at });
    } catch (error) {
      if (key) keys.remove(key);
      throw error;
    }
  };
}
