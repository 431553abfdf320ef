import { UUID } from '../../http/uuid.js';

/**
 * Whose token it is (RFC 9068 §2.2 asks for it): clients are not registered, and what one calls itself binds its code only, so
 * it says the same of all of them.
 */
export const CLIENT_ID = 'latchkey';

/** Claims of an access token (contract §5; RFC 9068 §2.2). Times are seconds since the epoch. */
export interface AccessTokenClaims {
  readonly iss: string;
  readonly aud: string;
  /** The user. */
  readonly sub: string;
  /** The session. */
  readonly sid: string;
  readonly device_id?: string;
  /** Absent from tokens of releases before 0.2, which live for an hour after an upgrade. */
  readonly client_id?: string;
  readonly jti: string;
  readonly iat: number;
  readonly exp: number;
}

/** The claims of a payload whose signature is verified, or undefined when it is not that of an access token of ours. */
export function readClaims(payload: unknown): AccessTokenClaims | undefined {
  const claims = payload as Partial<Record<keyof AccessTokenClaims, unknown>>;
  const { sub, sid, jti, device_id: deviceId, iat, exp } = claims;
  const ids = [sub, sid, jti, ...(deviceId === undefined ? [] : [deviceId])];
  if (!ids.every((id) => typeof id === 'string' && UUID.test(id))) return undefined;
  if (!Number.isInteger(iat) || !Number.isInteger(exp)) return undefined; // jsonwebtoken lets a token without exp pass
  return payload as AccessTokenClaims;
}
