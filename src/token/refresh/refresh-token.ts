import { hash, randomBytes } from 'node:crypto';
import type { Session } from '../../events.js';
import { uuidIn } from '../../http/parameters/uuid.js';

const PREFIX = 'lkr_'; // so that secret scanners recognise a leaked one
const SECRET_BYTES = 32;
const UUID_BYTES = 16;
/** The last byte of a token whose session is bound to a key (contract §5). */
const BOUND = 1;

/** What a refresh token says about itself. */
export interface HeldToken {
  readonly session: Session;
  /** Whether it is worth nothing without a proof of the session's key. */
  readonly bound: boolean;
}

/**
 * Makes the refresh token of a session: `lkr_` and base64url of session id, user id, device id (left out where
 * there is none), 256 random bits and, for a session that is bound to a key, one byte more. It carries its ids so that the
 * access token can be signed before the database is asked; the stored hash covers them all.
 */
export function makeRefreshToken({ sessionId, userId, deviceId }: Session, bound = false): string {
  const ids = [sessionId, userId, ...(deviceId === null ? [] : [deviceId])].map(uuidToBytes);
  const mark = Buffer.from(bound ? [BOUND] : []);
  return PREFIX + Buffer.concat([...ids, randomBytes(SECRET_BYTES), mark]).toString('base64url');
}

/** What a refresh token claims, or undefined when the text was never one of ours. */
export function parseRefreshToken(token: string): HeldToken | undefined {
  if (!token.startsWith(PREFIX)) return undefined;
  const bytes = Buffer.from(token.slice(PREFIX.length), 'base64url');
  const bound = bytes.length % UUID_BYTES === 1;
  if (bound && bytes.at(-1) !== BOUND) return undefined;
  const withoutSecret = bytes.length - SECRET_BYTES - Number(bound);
  if (withoutSecret !== 2 * UUID_BYTES && withoutSecret !== 3 * UUID_BYTES) return undefined;
  const ids = bytes.toString('hex', 0, withoutSecret); // once for all three: 0.5 µs in place of 0.75
  const session = {
    sessionId: uuidIn(ids, 0),
    userId: uuidIn(ids, 2 * UUID_BYTES),
    deviceId: withoutSecret === 2 * UUID_BYTES ? null : uuidIn(ids, 4 * UUID_BYTES),
  };
  return { session, bound };
}

/**
 * All that the database keeps of a token (spec §2.2): SHA-256 of its text or, where the session is bound to a key, of the key's
 * thumbprint and the text (contract §5).
 */
export function hashRefreshToken(token: string, jkt: Buffer | null = null): Buffer {
  // In one call: 0.3 µs, where an object that is updated takes 1.05.
  return hash('sha256', jkt === null ? token : Buffer.concat([jkt, Buffer.from(token)]), 'buffer');
}

function uuidToBytes(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}
