import { hash, randomBytes } from 'node:crypto';
import type { SessionIds } from '../../platform/events.js';
import { uuidIn } from '../../platform/http/parameters/uuid.js';

/** Prefixes, by which secret scanners recognise a leaked token: of the application, and of programs. */
const OWN = 'lkr_';
export const DELEGATED = 'lka_';
/** What the hash of a program's token covers first: as a token of the application, it is unknown. */
const DELEGATED_DOMAIN = Buffer.from('agent\0');
/** Characters of a token with the longest authentication (identity.ts). */
const MAX_REFRESH_TOKEN = 2048;

/** First byte: the format of the others. */
const VERSION = 1;
/** Second byte: the sum of these flags. */
const [BOUND, DEVICE] = [1, 2];
// Three ids follow, then 256 random bits, and at the end JSON or nothing.
const [SESSION_AT, USER_AT, DEVICE_AT, SECRET_AT, JSON_AT] = [2, 18, 34, 50, 82];

/**
 * When and how the user of a session authenticated (RFC 9068 §2.2.1, RFC 9470); a member is absent if it is
 * unknown.
 */
export interface Authentication {
  /** Seconds since the epoch. */
  readonly auth_time?: number | undefined;
  readonly acr?: string | undefined;
  readonly amr?: string[] | undefined;
}

export interface ParsedRefreshToken {
  readonly session: SessionIds;
  /** Absent if nothing is known. */
  readonly authentication?: Authentication;
  /** Whether a refresh needs a proof of the session's key. */
  readonly bound: boolean;
}

/**
 * Makes the refresh token of a session: a prefix and base64url of a header of 82 bytes and the JSON of the
 * authentication, if any. So an access token can be signed before the query; the stored hash covers all of
 * it.
 */
export function makeRefreshToken(
  { sessionId, userId, deviceId }: SessionIds,
  bound = false,
  authentication?: Authentication,
  prefix: typeof OWN | typeof DELEGATED = OWN,
): string {
  const header = Buffer.alloc(JSON_AT);
  header[0] = VERSION;
  header[1] = (bound ? BOUND : 0) + (deviceId === null ? 0 : DEVICE);
  writeUuid(header, SESSION_AT, sessionId);
  writeUuid(header, USER_AT, userId);
  if (deviceId !== null) writeUuid(header, DEVICE_AT, deviceId);
  randomBytes(JSON_AT - SECRET_AT).copy(header, SECRET_AT);
  const json = Buffer.from(authentication ? JSON.stringify(authentication) : '');
  return prefix + Buffer.concat([header, json]).toString('base64url');
}

/**
 * Parses a refresh token; only its hash shows whether it is ours.
 * @returns undefined if it has another format
 */
export function parseRefreshToken(token: string, prefix: string = OWN): ParsedRefreshToken | undefined {
  if (!token.startsWith(prefix) || token.length > MAX_REFRESH_TOKEN) return undefined;
  const bytes = Buffer.from(token.slice(prefix.length), 'base64url');
  const [version, flags] = bytes;
  if (bytes.length < JSON_AT || version !== VERSION || flags! > BOUND + DEVICE) return undefined;
  const hex = bytes.toString('hex', 0, SECRET_AT);
  const session = {
    sessionId: uuidIn(hex, 2 * SESSION_AT),
    userId: uuidIn(hex, 2 * USER_AT),
    deviceId: flags! & DEVICE ? uuidIn(hex, 2 * DEVICE_AT) : null,
  };
  const bound = (flags! & BOUND) !== 0;
  if (bytes.length === JSON_AT) return { session, bound };
  const authentication = parseAuthentication(bytes.toString('utf8', JSON_AT));
  return authentication && { session, bound, authentication };
}

/** Members of another name are left out. */
function parseAuthentication(json: string): Authentication | undefined {
  try {
    const { auth_time, acr, amr } = JSON.parse(json) as Authentication;
    return { auth_time, acr, amr };
  } catch {
    return undefined;
  }
}

/**
 * Hashes a token for the database (spec §2.2): SHA-256 of its text or, for a bound session, of thumbprint and
 * text. Of a program's token, `agent` and a zero byte come first.
 */
export function hashRefreshToken(token: string, jkt: Buffer | null = null): Buffer {
  const isDelegated = token.startsWith(DELEGATED);
  if (jkt === null && !isDelegated) return hash('sha256', token, 'buffer');
  const parts = [...(isDelegated ? [DELEGATED_DOMAIN] : []), ...(jkt === null ? [] : [jkt])];
  return hash('sha256', Buffer.concat([...parts, Buffer.from(token)]), 'buffer');
}

function writeUuid(bytes: Buffer, at: number, uuid: string): void {
  bytes.write(uuid.replaceAll('-', ''), at, 'hex');
}
