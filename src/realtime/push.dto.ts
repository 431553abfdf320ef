import { AnyJson, OptionalInteger, OptionalText, RequiredText } from '../http/parameter.js';
import { UUID } from '../http/uuid.js';
import { EVENT_NAME } from './event-name.js';

const A_UUID = { pattern: UUID, as: 'a UUID' };

const EVENT = { pattern: EVENT_NAME, as: 'an event name that is not reserved' };

/** A year, in seconds; to keep events longer is a database's work. */
const LONGEST_TTL = 31_536_000;

/** Body of POST /push (contract §4). */
export class PushDto {
  /** Whose channel. */
  @RequiredText({ matches: A_UUID })
  user_id!: string;

  /** Name of the event: letters, digits and `_ . : -`, 128 at most. */
  @RequiredText({ matches: EVENT })
  event!: string;

  /** What the event carries: any JSON. */
  @AnyJson()
  data?: unknown;

  /** Only to this device of the user. */
  @OptionalText({ matches: A_UUID })
  device_id?: string;

  /** Seconds for which the event waits for clients that are not connected; 0: only for connected ones. */
  @OptionalInteger({ max: LONGEST_TTL })
  ttl?: number;
}
