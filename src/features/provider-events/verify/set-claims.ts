import type { JWTPayload } from 'jose';
import { isObject } from '../../../platform/http/parameters/json.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { isName } from '../../../provider/identity/identity.js';
import { eventName, type EventName } from '../event-types.js';
import { withoutNulls } from '../../../provider/keys/remote-keys.js';
import { OtherSubject, readSubject, type Names, type Subject } from './subject.js';

type Members = Readonly<Record<string, unknown>>;

export interface Signal {
  /** URI. */
  readonly type: string;
  /** Undefined: it is only recorded. */
  readonly name: EventName | undefined;
  readonly subject: Subject | OtherSubject;
  /** Seconds since the epoch. */
  readonly time: number;
  readonly body: Members;
}

/** Validated Security Event Token (RFC 8417). */
export interface SecurityEvents {
  readonly issuer: string;
  readonly jti: string;
  readonly signals: readonly Signal[];
}

/** Errors of RFC 8935 §2.4. */
export type SetErrorCode =
  | 'invalid_request'
  | 'invalid_key'
  | 'invalid_issuer'
  | 'invalid_audience'
  | 'authentication_failed';

/** Refusal of a Security Event Token. */
export class SetError extends OAuthError {
  constructor(
    readonly err: SetErrorCode,
    description: string,
    cause?: unknown,
  ) {
    super('invalid_request', description, { cause });
  }
}

/** Seconds by which the transmitter's clock may be ahead. */
export const SET_TOLERANCE_S = 60;
const OLDEST_S = 7 * 86_400;
/** SSF 1.0 has one event in a token, RFC 8417 §2 allows several. */
const MOST_EVENTS = 10;
/** Drafts of CAEP have times in milliseconds; in seconds, such a time would be after the year 5000. */
const IN_MILLISECONDS = 100_000_000_000;

/**
 * Validates the claims of a token with a valid signature, `iss` and `aud` (RFC 8417 §2.2; SSF 1.0 §4).
 * @param now seconds since the epoch
 * @throws SetError
 */
export function readSet(claims: JWTPayload, names: Names, now: number): SecurityEvents {
  const { iss = '', iat, jti, events, toe, sub_id: subId } = claims;
  if (typeof iat !== 'number' || iat > now + SET_TOLERANCE_S || iat < now - OLDEST_S) {
    throw malformed('iat is missing, in the future or too old');
  }
  if (!isName(jti)) throw malformed('jti is missing or unusable');
  if (Object.hasOwn(claims, 'exp')) throw malformed('exp is not allowed');
  if (Object.hasOwn(claims, 'sub')) throw malformed('sub is not allowed: the subject is sub_id');
  if (!isObject(events)) throw malformed('events is missing');
  const entries = Object.entries(events);
  if (entries.length === 0 || entries.length > MOST_EVENTS) throw malformed('events has none, or too many');
  const signals = entries.map(([type, members]): Signal => {
    if (!isObject(members)) throw malformed('an event is no object');
    const body = withoutNulls(members);
    // Former drafts have the subject in the event.
    const subject = readSubject(subId ?? body['subject'], names);
    const name = eventName(type);
    if (!subject && name !== undefined && !isOfStream(name)) throw malformed('the subject is malformed');
    const time = secondsIn(body['event_timestamp']) ?? secondsIn(toe) ?? iat;
    return {
      type,
      name,
      subject: subject ?? new OtherSubject('no subject'),
      time: Math.min(time, now + SET_TOLERANCE_S),
      body,
    };
  });
  return { issuer: iss, jti, signals };
}

function isOfStream(name: EventName): boolean {
  return name === 'verification' || name === 'stream-updated';
}

function secondsIn(value: unknown): number | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return undefined;
  return value > IN_MILLISECONDS ? value / 1000 : value;
}

function malformed(description: string): SetError {
  return new SetError('invalid_request', description);
}
