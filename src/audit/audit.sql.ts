import type { AuditRow } from './audit-event.js';

/** Types of the columns without `at`; one that is missing here does not compile. */
const TYPES: Readonly<Record<keyof AuditRow, 'uuid' | 'text' | 'boolean' | 'json'>> = {
  id: 'uuid',
  event: 'text',
  result: 'text',
  error: 'text',
  reason: 'text',
  user_id: 'uuid',
  session_id: 'uuid',
  device_id: 'uuid',
  provider: 'text',
  provider_user_id: 'text',
  address: 'text',
  user_agent: 'text',
  actor_type: 'text',
  actor_name: 'text',
  request_id: 'uuid',
  new_device: 'boolean',
  new_network: 'boolean',
  former_user_id: 'uuid',
  changes: 'json',
};

/** Columns to insert. `at` has its default, the time under the locks of the transaction. */
export const INSERTED = Object.keys(TYPES) as readonly (keyof AuditRow)[];

/** Columns to select: a column of a later version must not appear in events. */
export const COLUMNS = ['at', ...INSERTED].join(', ');

const PARAMETERS = INSERTED.map((name, i) => `$${i + 1}::${TYPES[name]}[]`).join(', ');

/** Inserts events; a parameter for each column, an array. */
export const INSERT_EVENTS = `
  INSERT INTO audit_events (${INSERTED.join(', ')}) SELECT * FROM unnest(${PARAMETERS})`;

/** A refusal may be stored so long after its time, which it keeps then. Streams wait for it (AuditFeed). */
export const KEEPS_TIME_MS = 400;

/**
 * SQL: the time of a stored refusal; a late one gets the earliest that no stream has passed, in `nth` order.
 * @param at milliseconds since the epoch
 */
export const timeOfRefusal = (at: string, nth: string): string => `
  greatest(least(to_timestamp(${at}::float8 / 1000), clock_timestamp()), now() - interval '${KEEPS_TIME_MS} ms')
    + ${nth} * interval '1 microsecond'`;

/** As INSERT_EVENTS, and the last parameter has times in milliseconds. */
export const INSERT_REFUSALS = `
  INSERT INTO audit_events (${INSERTED.join(', ')}, at)
  SELECT ${INSERTED.join(', ')}, ${timeOfRefusal('ms', 'nth')}
  FROM unnest(${PARAMETERS}, $${INSERTED.length + 1}::float8[]) WITH ORDINALITY AS one (${INSERTED.join(', ')}, ms, nth)`;
