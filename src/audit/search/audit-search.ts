import type { DataSource } from 'typeorm';
import { placeOf, timeAt } from '../../database/page.js';
import { formatCursor, parseCursor, type Place } from '../../http/parameters/cursor.js';
import type { StoredAuditEvent } from '../audit-event.entity.js';
import { NO_USER, toAuditEvent } from '../audit-event.js';
import { COLUMNS } from '../audit.sql.js';
import type { AuditDto, AuditEvents } from './audit.dto.js';

/** Events that one page reads at most, whether they match or not: some 50 ms. */
const WALK = 20_000;

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const BEFORE = `coalesce(${timeAt('$1')}, 'infinity'), $2::uuid`;
const SINCE = `coalesce($3::timestamptz, '-infinity')`;
const FILTER = `
  ($5::text IS NULL OR event = $5) AND ($6::text IS NULL OR provider = $6) AND ($7::text IS NULL OR result = $7)`;
const OF_ALL = `$4::uuid IS NULL AND (at, id) < (${BEFORE}) AND at >= ${SINCE}`;
/** With `user_id = $4` alone, PostgreSQL might read the index on `at`, and so the events of all users. */
export const OF_USER = `
  (user_id, at, id) < ($4::uuid, ${BEFORE}) AND (user_id, at, id) >= ($4::uuid, ${SINCE}, '${NO_USER}')`;

type Found = StoredAuditEvent & Place & { readonly is_end: boolean };

/**
 * Searches the audit trail, newest first (docs/audit.md#search). The time of a search does not depend on the
 * number of events that match.
 */
export class AuditSearch {
  /** @param ofUser condition on the events of a user */
  constructor(
    private readonly dataSource: DataSource,
    private readonly ofUser = OF_USER,
  ) {}

  /** Returns a page, which may be shorter than `limit`, even empty, and still not be the last one. */
  async find(query: AuditDto): Promise<AuditEvents> {
    const { user_id, event, provider, result, since, until } = query;
    const limit = Number(query.limit ?? 50);
    const after = parseCursor(query.cursor);
    const end = until === undefined ? until : { place: String(Date.parse(until) * 1000), id: NO_USER };
    const before = after && end ? (BigInt(after.place) < BigInt(end.place) ? after : end) : (after ?? end);
    const begin = since && new Date(since);
    const values = [before?.place, before?.id ?? LAST_ID, begin, user_id, event, provider, result, limit + 1];
    const rows = await this.dataSource.transaction(async (manager) => {
      // Raw: the plan must not depend on statistics, which may be old, and the walk has a bound of its own.
      await manager.query(
        'SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off',
      );
      return manager.query<Found[]>(this.select(query), values);
    });
    const fitting = rows.filter(({ is_end }) => !is_end);
    const last = fitting.length > limit ? fitting[limit - 1] : rows.find(({ is_end }) => is_end);
    const events = fitting
      .slice(0, limit)
      .map(({ place: _place, is_end: _end, ...row }) => toAuditEvent(row));
    return { events, next_cursor: last && formatCursor(last) };
  }

  /** Selects the page and, if it is not full, the event at which the walk ended. */
  private select({ user_id, event, result }: AuditDto): string {
    const isRefusal = result === 'refused' || event?.endsWith('_refused'); // has an index
    const condition = user_id === undefined ? OF_ALL : this.ofUser;
    const where = isRefusal ? `${condition} AND result = 'refused'` : condition;
    const order = `${user_id === undefined ? '' : 'user_id DESC, '}at DESC, id DESC`;
    const walk = `SELECT ${COLUMNS} FROM audit_events WHERE ${where} ORDER BY ${order}`;
    return `
      WITH page AS MATERIALIZED (
        SELECT * FROM (${walk} LIMIT ${WALK}) AS walked WHERE ${FILTER} ORDER BY ${order} LIMIT $8
      ), found AS (
        SELECT *, false AS is_end FROM page
        UNION ALL
        SELECT *, true FROM (${walk} OFFSET ${WALK - 1} LIMIT 1) AS last WHERE (SELECT count(*) FROM page) < $8
      )
      SELECT *, ${placeOf('at')} AS place FROM found`;
  }
}
