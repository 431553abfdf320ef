import { createHash, randomBytes } from 'node:crypto';

/** A copy of the service's sessions and refresh tokens, so that a change there does not move the floor. */
export interface Session {
  readonly userId: string;
  readonly sessionId: string;
  readonly deviceId: string;
}

/** Version and flags of a token with a device that is not bound. */
const HEAD = Buffer.from([1, 2]);

/**
 * Reads the session out of a refresh token: `lkr_`, then HEAD, session, user and device id and 32 random bytes,
 * base64url.
 */
export function sessionOf(refreshToken: string): Session {
  const hex = Buffer.from(refreshToken.slice(4), 'base64url').toString('hex', HEAD.length, HEAD.length + 48);
  return { sessionId: uuidAt(hex, 0), userId: uuidAt(hex, 32), deviceId: uuidAt(hex, 64) };
}

export function makeRefreshToken({ sessionId, userId, deviceId }: Session): string {
  const ids = Buffer.from((sessionId + userId + deviceId).replaceAll('-', ''), 'hex');
  return `lkr_${Buffer.concat([HEAD, ids, randomBytes(32)]).toString('base64url')}`;
}

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Five groups out of 32 hex characters. */
export function uuidAt(hex: string, i: number): string {
  return `${hex.slice(i, i + 8)}-${hex.slice(i + 8, i + 12)}-${hex.slice(i + 12, i + 16)}-${hex.slice(i + 16, i + 20)}-${hex.slice(i + 20, i + 32)}`;
}
