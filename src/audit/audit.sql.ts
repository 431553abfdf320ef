import { getMetadataArgsStorage } from 'typeorm';
import type { AuditRow } from './audit-event.js';
import { StoredAuditEvent } from './audit-event.entity.js';

/** Columns to insert. `at` has its default, the time under the locks of the transaction. */
export const INSERTED = getMetadataArgsStorage()
  .filterColumns(StoredAuditEvent)
  .filter(({ propertyName }) => propertyName !== 'at')
  .map(({ propertyName, options }) => ({
    name: propertyName as keyof AuditRow,
    type: options.type as string,
  }));

/** Columns to select: a column of a later version must not appear in events. */
export const COLUMNS = ['at', ...INSERTED.map(({ name }) => name)].join(', ');

/**
 * Inserts a `sign_in` for each of several sign-ins, with the id of its session as id.
 * @param from member of this `WITH`, with the columns of the table; its users are locked
 */
export function insertSignInEvents(from: string): string {
  return `
      INSERT INTO audit_events (user_id, id, event, result, session_id, device_id, provider, provider_user_id, address,
        user_agent, actor_type, request_id)
      SELECT user_id, session_id, 'sign_in', 'ok', session_id, device_id, provider, provider_user_id, address, user_agent,
        'user', request_id
      FROM ${from}`;
}
