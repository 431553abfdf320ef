import { AnyJson, Optional, Required, WholeNumber } from '../http/parameter.js';
import { UUID } from '../http/uuid.js';

const A_UUID = { pattern: UUID, as: 'a UUID' };

// Contract §7; the last three would make Socket.IO itself throw.
const RESERVED =
  /^(device\..*|session\..*|token\..*|ready|authenticate|connect|connect_error|disconnect|error|disconnecting|newListener|removeListener)$/;
const EVENT = {
  pattern: new RegExp(`^(?!${RESERVED.source.slice(1)})[A-Za-z0-9_.:-]{1,128}$`),
  as: 'an event name that is not reserved',
};

/** A year; whoever wants to keep events longer wants a database. */
const LONGEST_TTL = 31_536_000;

/** Body of POST /push (contract §4). */
export class PushDto {
  /** Whose channel. */
  @Required({ matches: A_UUID })
  user_id!: string;

  /** Name of the event: letters, digits and `_ . : -`, 128 at most. */
  @Required({ matches: EVENT })
  event!: string;

  /** What the event carries: any JSON. */
  @AnyJson()
  data?: unknown;

  /** Only to this device of the user. */
  @Optional({ matches: A_UUID })
  device_id?: string;

  /** Seconds for which the event waits for whoever is not connected; 0: only for who is. */
  @WholeNumber({ max: LONGEST_TTL })
  ttl?: number;
}
