import { hash, randomBytes } from 'node:crypto';
import type { SessionIds } from '../../events.js';
import { uuidIn } from '../../http/parameters/uuid.js';

const PREFIX = 'lkr_'; // lets secret scanners recognise a leaked token
const SECRET_BYTES = 32;
const UUID_BYTES = 16;
/** Last byte of the token of a bound session. */
const BOUND = 1;
/** Added to the last byte of a token with an authentication, if the session has a device. */
const DEVICE = 2;
/** Forms of a token: its bytes modulo UUID_BYTES. */
const [PLAIN, MARKED, KNOWN] = [0, 1, 2];

/** Characters of a token with the longest authentication (identity.ts). */
const MAX_REFRESH_TOKEN = 2048;

/** When and how the user of a session authenticated (RFC 9068 §2.2.1, RFC 9470); a member is absent if it is unknown. */
export interface Authentication {
  /** Seconds since the epoch. */
  readonly auth_time?: number | undefined;
  readonly acr?: string | undefined;
  readonly amr?: string[] | undefined;
}

export interface HeldToken {
  readonly session: SessionIds;
  /** Absent if nothing is known. */
  readonly authentication?: Authentication;
  /** Whether a refresh needs a proof of the session's key. */
  readonly bound: boolean;
}

/**
 * Makes the refresh token of a session: `lkr_` and base64url of session id, user id, device id (if any), 256 random bits and, for a
 * bound session, one more byte. If the authentication is known, its JSON follows the random bits, padded, and one more byte. So the
 * access token can be signed before the query; the stored hash covers all of it.
 */
export function makeRefreshToken(
  { sessionId, userId, deviceId }: SessionIds,
  bound = false,
  authentication?: Authentication,
): string {
  const ids = [sessionId, userId, ...(deviceId === null ? [] : [deviceId])].map(uuidToBytes);
  const tail = authentication
    ? [paddedJson(authentication), Buffer.from([(bound ? BOUND : 0) + (deviceId === null ? 0 : DEVICE)])]
    : [Buffer.from(bound ? [BOUND] : [])];
  return PREFIX + Buffer.concat([...ids, randomBytes(SECRET_BYTES), ...tail]).toString('base64url');
}

/** Parses a refresh token. @returns undefined if the text has not our format */
export function parseRefreshToken(token: string): HeldToken | undefined {
  if (!token.startsWith(PREFIX) || token.length > MAX_REFRESH_TOKEN) return undefined;
  const bytes = Buffer.from(token.slice(PREFIX.length), 'base64url');
  const form = bytes.length % UUID_BYTES;
  const mark = form === PLAIN ? 0 : bytes.at(-1)!;
  if (form > KNOWN || mark > BOUND + (form === KNOWN ? DEVICE : 0) || (form === MARKED && mark !== BOUND)) {
    return undefined;
  }
  const withoutSecret =
    form === KNOWN
      ? (mark & DEVICE ? 3 : 2) * UUID_BYTES
      : bytes.length - SECRET_BYTES - Number(form === MARKED);
  if (withoutSecret !== 2 * UUID_BYTES && withoutSecret !== 3 * UUID_BYTES) return undefined;
  const ids = bytes.toString('hex', 0, withoutSecret);
  const session = {
    sessionId: uuidIn(ids, 0),
    userId: uuidIn(ids, 2 * UUID_BYTES),
    deviceId: withoutSecret === 2 * UUID_BYTES ? null : uuidIn(ids, 4 * UUID_BYTES),
  };
  const bound = (mark & BOUND) !== 0;
  if (form !== KNOWN) return { session, bound };
  const authentication = readAuthentication(bytes.subarray(withoutSecret + SECRET_BYTES, -1));
  return authentication && { session, bound, authentication };
}

/** JSON with spaces at its end, so that the token with its mark has the length of the form KNOWN. */
function paddedJson(authentication: Authentication): Buffer {
  const json = JSON.stringify(authentication);
  return Buffer.from(json.padEnd(Math.ceil((json.length - 1) / UUID_BYTES) * UUID_BYTES + 1));
}

/** Only the hash shows whether the text is ours: members of another name are left out. */
function readAuthentication(json: Buffer): Authentication | undefined {
  try {
    const { auth_time, acr, amr } = JSON.parse(json.toString()) as Authentication;
    return { auth_time, acr, amr };
  } catch {
    return undefined;
  }
}

/**
 * Hashes a token for the database (spec §2.2): SHA-256 of its text or, for a bound session, of thumbprint and
 * text.
 */
export function hashRefreshToken(token: string, jkt: Buffer | null = null): Buffer {
  return hash('sha256', jkt === null ? token : Buffer.concat([jkt, Buffer.from(token)]), 'buffer');
}

function uuidToBytes(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}
