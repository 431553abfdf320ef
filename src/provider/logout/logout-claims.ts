import type { JWTPayload } from 'jose';
import { isName } from '../identity/identity.js';

/** A provider's wish that sessions end (OpenID Connect Back-Channel Logout 1.0 §2.4), judged. */
export interface Logout {
  readonly jti: string;
  /** `sub` and `sid`: at least one of them is there. */
  readonly subject: string | null;
  readonly session: string | null;
  /** Seconds since the epoch, by the database's clock: the token is refused from then on. */
  readonly until: number;
}

/** Seconds for which a token without `exp` is good. */
const WITHOUT_EXP_S = 120;
/** The most for one with it: so long it must be remembered that it was obeyed. */
const LONGEST_S = 86_400;
/** Seconds by which the provider's clock may be ahead of ours. */
export const AHEAD_S = 30;

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/**
 * Judges the claims of a logout token whose signature, `iss` and `aud` are good (§2.6); pure.
 *
 * @param now seconds since the epoch
 * @throws an error whose message says what is wrong, in fixed words
 */
export function readLogout(claims: JWTPayload, now: number): Logout {
  const { iat, exp, sub, sid, jti } = claims;
  if (typeof iat !== 'number' || iat > now + AHEAD_S) throw new Error('iat is missing or in the future');
  const until = exp === undefined ? iat + WITHOUT_EXP_S : Math.min(exp, iat + LONGEST_S);
  if (until <= now) throw new Error('it has expired');
  if (!isName(jti)) throw new Error('jti is missing or unusable');
  if (!hasEvent(claims['events'])) throw new Error('events does not name a back-channel logout');
  // §2.4: so that no ID token is taken for a logout token.
  if (Object.hasOwn(claims, 'nonce')) throw new Error('it has a nonce');
  if (sub === undefined && sid === undefined) throw new Error('it has neither sub nor sid');
  return { jti, subject: nameIn(sub), session: nameIn(sid), until };
}

function nameIn(claim: unknown): string | null {
  if (claim === undefined) return null;
  if (!isName(claim)) throw new Error('sub or sid is unusable');
  return claim;
}

function hasEvent(events: unknown): boolean {
  return isObject(events) && Object.hasOwn(events, EVENT) && isObject(events[EVENT]);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
