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
  changes: 'json',
};

/** Columns to insert. `at` has its default, the time under the locks of the transaction. */
export const INSERTED = Object.keys(TYPES) as readonly (keyof AuditRow)[];

/** Columns to select: a column of a later version must not appear in events. */
export const COLUMNS = ['at', ...INSERTED].join(', ');

/** Inserts events; a parameter for each column, an array. */
export const INSERT_EVENTS = `
  INSERT INTO audit_events (${INSERTED.join(', ')})
  SELECT * FROM unnest(${INSERTED.map((name, i) => `$${i + 1}::${TYPES[name]}[]`).join(', ')})`;
