import type { Begun, CallbackQuery } from './callback.js';
import { deviceId } from './device.js';
import type { Call } from './service.js';
import type { TokenKeeper, Tokens } from './tokens.js';

/**
 * Steps 4 and 5 of spec §1: exchanges the code, and keeps the tokens.
 * @throws LatchkeyError what the service answered
 */
export type Exchange = (query: CallbackQuery, sent: Begun) => Promise<void>;

export function makeExchange(deviceName: string, call: Call, keeper: TokenKeeper): Exchange {
  return async ({ code, state, iss }, { redirectUri, verifier }) => {
    const device_id = deviceId();
    const tokens = await call<Tokens>('POST', '/oauth2/token', {
      code,
      state,
      iss,
      device_id,
      redirect_uri: redirectUri,
      code_verifier: verifier,
      device_name: deviceName,
    });
    keeper.put({ ...tokens, device_id, signed_in_at: Date.now() });
  };
}
