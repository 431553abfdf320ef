import {
  ListOfBodies,
  MayBeCompressed,
  OptionalList,
  OptionalText,
  RequiredList,
} from '../../platform/http/parameters/parameter.js';
import { A_UUID } from '../../platform/http/parameters/uuid.js';
import { EventDto } from './push.dto.js';

const MOST_EVENTS = 100;
/** Of a call; a user counts as often as an event is for them. */
export const MOST_USERS = 1000;

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
