import type { JWTPayload } from 'jose';
import { isObject } from '../../../platform/http/parameters/json.js';
import { isName } from '../../../provider/identity/identity.js';

/** Validated claims of a logout token (OpenID Connect Back-Channel Logout 1.0 §2.4). */
export interface Logout {
  readonly jti: string;
  /** `sub` and `sid`; at least one is present. */
  readonly subject: string | null;
  readonly session: string | null;
  /** Seconds since the epoch, by the database's clock: from then on the token is rejected. */
  readonly until: number;
}

const WITHOUT_EXP_S = 120; // seconds of validity without `exp`
const LONGEST_S = 86_400; // upper bound with `exp`; the `jti` is stored for as long
/** Seconds by which the provider's clock may be ahead. */
export const LOGOUT_TOLERANCE_S = 30;

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/**
 * Validates the claims of a logout token with a valid signature, `iss` and `aud` (§2.6).
 * @throws an error with a fixed message
 */
export function readLogout(claims: JWTPayload, now: number): Logout {
  const { iat, exp, sub, sid, jti } = claims;
  if (typeof iat !== 'number' || iat > now + LOGOUT_TOLERANCE_S)
    throw new Error('iat is missing or in the future');
  const until = exp === undefined ? iat + WITHOUT_EXP_S : Math.min(exp, iat + LONGEST_S);
  if (until <= now) throw new Error('it has expired');
  if (!isName(jti)) throw new Error('jti is missing or unusable');
  const { events } = claims;
  if (!isObject(events) || !Object.hasOwn(events, EVENT) || !isObject(events[EVENT]))
    throw new Error('events does not name a back-channel logout');
  // §2.4: an ID token must not pass as a logout token.
  if (Object.hasOwn(claims, 'nonce')) throw new Error('it has a nonce');
  if (sub === undefined && sid === undefined) throw new Error('it has neither sub nor sid');
  return { jti, subject: nameIn(sub), session: nameIn(sid), until };
}

function nameIn(claim: unknown): string | null {
  if (claim === undefined) return null;
  const isNumber = typeof claim === 'number' && Number.isSafeInteger(claim);
  const name = isNumber ? String(claim) : claim; // as in ID tokens
  if (!isName(name)) throw new Error('sub or sid is unusable');
  return name;
}
