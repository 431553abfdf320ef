import { hash, randomBytes } from 'node:crypto';
import type { Session } from '../../events.js';
import { uuidIn } from '../../http/parameters/uuid.js';

const PREFIX = 'lkr_'; // lets secret scanners recognise a leaked token
const SECRET_BYTES = 32;
const UUID_BYTES = 16;
/** Last byte of the token of a bound session (contract §5). */
const BOUND = 1;

/** Content of a refresh token. */
export interface HeldToken {
  readonly session: Session;
  /** Whether a refresh needs a proof of the session's key. */
  readonly bound: boolean;
}

/**
 * Makes the refresh token of a session: `lkr_` and base64url of session id, user id, device id (if any), 256 random bits and, for a
 * bound session, one more byte. With its ids the access token can be signed before the query; the stored hash covers them.
 */
export function makeRefreshToken({ sessionId, userId, deviceId }: Session, bound = false): string {
  const ids = [sessionId, userId, ...(deviceId === null ? [] : [deviceId])].map(uuidToBytes);
  const mark = Buffer.from(bound ? [BOUND] : []);
  return PREFIX + Buffer.concat([...ids, randomBytes(SECRET_BYTES), mark]).toString('base64url');
}

/** Parses a refresh token. @returns undefined if the text has not our format */
export function parseRefreshToken(token: string): HeldToken | undefined {
  if (!token.startsWith(PREFIX)) return undefined;
  const bytes = Buffer.from(token.slice(PREFIX.length), 'base64url');
  const bound = bytes.length % UUID_BYTES === 1;
  if (bound && bytes.at(-1) !== BOUND) return undefined;
  const withoutSecret = bytes.length - SECRET_BYTES - Number(bound);
  if (withoutSecret !== 2 * UUID_BYTES && withoutSecret !== 3 * UUID_BYTES) return undefined;
  const ids = bytes.toString('hex', 0, withoutSecret);
  const session = {
    sessionId: uuidIn(ids, 0),
    userId: uuidIn(ids, 2 * UUID_BYTES),
    deviceId: withoutSecret === 2 * UUID_BYTES ? null : uuidIn(ids, 4 * UUID_BYTES),
  };
  return { session, bound };
}

/** Hashes a token for the database (spec §2.2): SHA-256 of its text or, for a bound session, of thumbprint and text (contract §5). */
export function hashRefreshToken(token: string, jkt: Buffer | null = null): Buffer {
  return hash('sha256', jkt === null ? token : Buffer.concat([jkt, Buffer.from(token)]), 'buffer');
}

function uuidToBytes(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}
