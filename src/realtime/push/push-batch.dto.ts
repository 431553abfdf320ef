import {
  ListOfBodies,
  MayBeCompressed,
  OptionalList,
  OptionalText,
  RequiredList,
} from '../../platform/http/parameters/parameter.js';
import { A_UUID, UUID } from '../../platform/http/parameters/uuid.js';
import { EventDto, DEFAULT_TTL } from './push.dto.js';
import { randomUUID } from 'node:crypto';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { isObject } from '../../platform/http/parameters/json.js';
import { ParametersPipe } from '../../platform/http/parameters/parameters.pipe.js';
import type { PushEvent, PushTarget } from './push-writer.js';

const MOST_EVENTS = 100;
/** Of a call; a user counts as often as an event is for them. */
const MOST_USERS = 1000;

/** An event of a batch, for one user or for many. */
export class BatchedEventDto extends EventDto {
  /** The user who receives the event. */
  @OptionalText(A_UUID)
  user_id?: string;

  /** In place of `user_id`: the users who receive the event, 1,000 at most. */
  @OptionalList({ max: MOST_USERS })
  user_ids?: string[];
}

/** Body of POST /push/batch. */
@ListOfBodies()
@MayBeCompressed()
export class PushBatchDto {
  /** 100 events at most. */
  @RequiredList({ max: MOST_EVENTS })
  events!: BatchedEventDto[];
}

/** What became of an event for one user: as POST /push answers it, or why it was refused. */
export class BatchedResult {
  /** The event's own id: a UUID. */
  id?: string;

  /** The event's number in the user's history; null with a `ttl` of 0. */
  offset?: number | null;

  /** Whether the target has an open socket on some instance; advisory. */
  online?: boolean;

  /**
   * `invalid_request` or `not_found`; on a distributed database also `server_error`, for users of a node that
   * is away.
   */
  error?: string;

  /** Why, in words. */
  error_description?: string;
}

/** Answer of POST /push/batch (docs/realtime.md#many-events-at-once). */
export class PushedBatch {
  /** In the order of the events; one with `user_ids` has a result for each user, in their order. */
  results!: BatchedResult[];
}

/** Bytes of JSON: what the body of POST /push has room for (docs/security.md#requests). */
const LARGEST_DATA = 65_536;

export interface Batch {
  readonly events: readonly PushEvent[];
  /** One for each user of each event, in the order given; an error for what is malformed. */
  readonly targets: readonly (PushTarget | OAuthError)[];
}

const pipe = new ParametersPipe();

/**
 * Reads the events of POST /push/batch one by one: what is malformed is the error of its users.
 * @param check of an event that is well-formed; what it throws is the error of its users
 * @throws OAuthError `invalid_request` if there are more than 1,000 users
 */
export function readBatch(
  received: readonly unknown[],
  check: (event: PushEvent, bytes: number) => void,
): Batch {
  const users = received.map(usersOf);
  const count = users.reduce((sum, { length }) => sum + length, 0);
  if (count > MOST_USERS) {
    throw new OAuthError('invalid_request', `a batch must not be for more than ${MOST_USERS} users`);
  }
  const events: PushEvent[] = [];
  const targets = received.flatMap((one, i) => {
    let event: PushEvent;
    try {
      event = readEvent(one, check);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      return users[i]!.map(() => error);
    }
    const number = events.push(event) - 1;
    return users[i]!.map((userId) => readTarget(userId, number));
  });
  return { events, targets };
}

/** Its users, of any kind; one for an event that names none. */
function usersOf(event: unknown): readonly unknown[] {
  if (!isObject(event)) return [undefined];
  return Array.isArray(event['user_ids']) ? event['user_ids'] : [event['user_id']];
}

function readEvent(received: unknown, check: (event: PushEvent, bytes: number) => void): PushEvent {
  if (!isObject(received)) throw new OAuthError('invalid_request', 'an event must be a JSON object');
  const dto = pipe.transform(received, { type: 'body', metatype: BatchedEventDto }) as BatchedEventDto;
  if ((dto.user_id === undefined) === (dto.user_ids === undefined)) {
    throw new OAuthError('invalid_request', 'an event needs either user_id or user_ids');
  }
  const { event, data = null, device_id, ttl = DEFAULT_TTL } = dto;
  const json = JSON.stringify(data);
  const bytes = Buffer.byteLength(json);
  if (bytes > LARGEST_DATA) {
    throw new OAuthError('invalid_request', `data must be at most ${LARGEST_DATA / 1024} KiB of JSON`);
  }
  const read = { event, data, json, deviceId: device_id?.toLowerCase() ?? null, ttl };
  check(read, bytes);
  return read;
}

function readTarget(userId: unknown, event: number): PushTarget | OAuthError {
  if (typeof userId === 'string' && UUID.test(userId)) {
    return { userId: userId.toLowerCase(), id: randomUUID(), event };
  }
  return new OAuthError('invalid_request', 'user_ids must have UUIDs only');
}
