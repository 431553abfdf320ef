import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { databaseUnavailable } from '../errors/oauth-error.js';
import { formatCursor, parseCursor, type Place } from '../http/parameters/cursor.js';
import { placeOf, timeAt } from '../database/page.js';
import { auditEventOf, type AuditEvent } from './audit-event.js';
import type { StoredAuditEvent } from './audit-event.entity.js';
import { COLUMNS } from './audit.sql.js';

/** Events that one statement reads. They fit into the bound of a stream, though JSON needs six characters for a control character. */
const PAGE_SIZE = 100;

/** The `at` of an event is read after the start of its transaction, which PostgreSQL shows within this time. */
const MARGIN_S = 1;

/** Place in the trail (http/parameters/cursor.ts). It is valid on all instances, and after a restored backup. */
export type Cursor = string;

export const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

export interface AuditPage {
  readonly events: readonly { readonly event: AuditEvent; readonly cursor: Cursor }[];
  /** Behind these events, and behind all older ones. */
  readonly cursor: Cursor;
  readonly hasMore: boolean;
}

/** SQL: upper bound of all horizons until now. `now()` was before the look at other transactions, however late that is. */
export const LATEST_PLACE = placeOf(`now() - interval '${MARGIN_S} second'`);

/** Start of the oldest transaction in progress. */
const FIRST_START = `
  SELECT min(xact_start) FROM pg_stat_activity
  WHERE datname = current_database() AND usename = session_user AND pid <> pg_backend_pid()
    AND (application_name = current_setting('application_name') OR backend_xid IS NOT NULL)`;
/**
 * `horizon`: no event before it can still be committed, since each transaction that may write one began later: transactions of the service,
 * and transactions of its role that have written something (`backend_xid`), but not of `pg_dump`.
 */
const HORIZON = `
  SELECT pg_is_in_recovery() AS "isStandby", ${LATEST_PLACE} AS latest,
    least(${LATEST_PLACE}, ${placeOf(`(${FIRST_START})`)}) AS horizon`;

const PAGE = `
  SELECT ${COLUMNS}, ${placeOf('at')} AS place FROM audit_events
  WHERE (at, id) > (${timeAt('$1')}, $2::uuid) AND at < ${timeAt('$3')} ORDER BY at, id LIMIT ${PAGE_SIZE}`;

/** Reads the audit trail such that nothing is left out (docs/audit.md#stream), in commit order per user. */
@Injectable()
export class AuditFeed {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Reads the next events. A cursor in the future is set back, like the database's clock before.
   * @param after undefined: begins now
   * @throws OAuthError `server_error` on a standby, which may lack events, and errors of the database
   */
  read(after?: Cursor): Promise<AuditPage> {
    // One transaction, so that both statements reach one server; each sees what was committed before it.
    return this.dataSource.transaction('READ COMMITTED', async (manager) => {
      const [now] = await manager.query<{ isStandby: boolean; latest: string; horizon: string }[]>(HORIZON);
      const { isStandby, latest, horizon } = now!;
      if (isStandby) throw databaseUnavailable();
      const end = formatCursor({ place: horizon, id: BEFORE_ALL });
      const from = parseCursor(after);
      if (!after || !from || Number(from.place) > Number(latest))
        return { events: [], cursor: end, hasMore: false };
      const rows = await manager.query<(StoredAuditEvent & Place)[]>(PAGE, [from.place, from.id, horizon]);
      const events = rows.map(({ place, ...row }) => ({
        event: auditEventOf(row),
        cursor: formatCursor({ place, id: row.id }),
      }));
      const hasMore = rows.length === PAGE_SIZE;
      const cursor = hasMore ? events.at(-1)!.cursor : end;
      return { events, cursor: isBefore(cursor, after) ? after : cursor, hasMore };
    });
  }
}

export function isBefore(cursor: Cursor, other: Cursor): boolean {
  const [one, two] = [parseCursor(cursor)!, parseCursor(other)!];
  return one.place === two.place ? one.id < two.id : Number(one.place) < Number(two.place);
}

/** Milliseconds since the epoch. */
export function timeOfCursor(cursor: Cursor): number {
  return parseInt(cursor, 10) / 1000;
}
