import { Expose } from 'class-transformer';
import {
  AnyJson,
  MayBeCompressed,
  OptionalInteger,
  OptionalText,
  RequiredText,
} from '../../platform/http/parameters/parameter.js';
import { A_UUID } from '../../platform/http/parameters/uuid.js';

// Names of the service's own events, of today and of later versions, and of Socket.IO's
// (docs/realtime.md#pushing).
const RESERVED =
  /(?:device|session|token|claims|agent|identities)\..*|ready|authenticate|connect|connect_error|disconnect|error|disconnecting|newListener|removeListener/;

/** Answer of POST /push (docs/realtime.md#pushing). */
export class Pushed {
  /** The event's own id: a UUID. */
  @Expose()
  id!: string;

  /** The event's number in the user's history; null with a `ttl` of 0. */
  @Expose()
  offset!: number | null;

  /** Whether the target has an open socket on some instance; advisory. */
  @Expose()
  online!: boolean;
}

const EVENT = {
  pattern: new RegExp(`^(?!(?:${RESERVED.source})$)[A-Za-z0-9_.:-]{1,128}$`),
  as: 'an event name that is not reserved',
};

/** A year, in seconds. */
const LONGEST_TTL = 31_536_000;
export const DEFAULT_TTL = 86_400;

/** An event without its user. */
export class EventDto {
  /** Name of the event: letters, digits and `_ . : -`, 128 at most. */
  @RequiredText({ matches: EVENT })
  event!: string;

  /** What the event carries: any JSON. */
  @AnyJson()
  data?: unknown;

  /** Only to this device of the user. */
  @OptionalText(A_UUID)
  device_id?: string;

  /** Seconds for which the event waits for clients that are not connected; 0: only for connected ones. */
  @OptionalInteger({ max: LONGEST_TTL })
  ttl?: number;
}

/** Body of POST /push. */
@MayBeCompressed()
export class PushDto extends EventDto {
  /** The user who receives the event. */
  @RequiredText(A_UUID)
  user_id!: string;
}
