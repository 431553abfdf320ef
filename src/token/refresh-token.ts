import { createHash, randomBytes } from 'node:crypto';
import type { Session } from '../events.js';

const PREFIX = 'lkr_'; // so that secret scanners recognise a leaked one
const SECRET_BYTES = 32;
const UUID_BYTES = 16;

/**
 * Makes the refresh token of a session: `lkr_` and base64url of session id, user id, device id (left out where
 * there is none) and 256 random bits. It carries its ids so that the access token can be signed before the
 * database is asked; the stored hash covers them all.
 */
export function makeRefreshToken({ sessionId, userId, deviceId }: Session): string {
  const ids = [sessionId, userId, ...(deviceId === null ? [] : [deviceId])];
  return PREFIX + Buffer.concat([...ids.map(uuidToBytes), randomBytes(SECRET_BYTES)]).toString('base64url');
}

/** The session that a refresh token claims to belong to, or undefined when the text was never one of ours. */
export function parseRefreshToken(token: string): Session | undefined {
  if (!token.startsWith(PREFIX)) return undefined;
  const bytes = Buffer.from(token.slice(PREFIX.length), 'base64url');
  const withoutDevice = bytes.length === 2 * UUID_BYTES + SECRET_BYTES;
  if (!withoutDevice && bytes.length !== 3 * UUID_BYTES + SECRET_BYTES) return undefined;
  return {
    sessionId: bytesToUuid(bytes, 0),
    userId: bytesToUuid(bytes, UUID_BYTES),
    deviceId: withoutDevice ? null : bytesToUuid(bytes, 2 * UUID_BYTES),
  };
}

/** SHA-256 of the token's text: all that the database keeps of it (spec §2.2). */
export function hashRefreshToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function uuidToBytes(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}

function bytesToUuid(bytes: Buffer, at: number): string {
  const hex = bytes.toString('hex', at, at + UUID_BYTES);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
