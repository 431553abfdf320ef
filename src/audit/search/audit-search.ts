import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Sql } from '../../database/sql.js';
import { formatCursor, parseCursor, type Place } from '../../http/parameters/cursor.js';
import { placeOf, timeAt } from '../../database/page.js';
import { auditEventOf, NO_USER } from '../audit-event.js';
import type { StoredAuditEvent } from '../audit-event.entity.js';
import { COLUMNS } from '../audit.sql.js';
import type { AuditDto, AuditEvents } from './audit.dto.js';

/** Events that one page reads at most, whether they match or not: some 50 ms. */
const WALK = 20_000;

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const BEFORE = `coalesce(${timeAt('$1')}, 'infinity'), $2::uuid`;
const SINCE = `coalesce($3::timestamptz, '-infinity')`;
const FILTER = `
  ($5::text IS NULL OR event = $5) AND ($6::text IS NULL OR provider = $6) AND ($7::text IS NULL OR result = $7)`;

// With `user_id = $4` alone, PostgreSQL might read the index on `at`, and so the events of all users. Citus needs it to find the node.
const OF_USER = `(user_id, at, id) < ($4::uuid, ${BEFORE}) AND (user_id, at, id) >= ($4::uuid, ${SINCE}, '${NO_USER}')`;
const OF_ALL = `$4::uuid IS NULL AND (at, id) < (${BEFORE}) AND at >= ${SINCE}`;

/**
 * Searches the audit trail, newest first (docs/audit.md#search). The time of a search does not depend on the
 * number of events that match.
 */
@Injectable()
export class AuditSearch {
  constructor(
    private readonly dataSource: DataSource,
    private readonly sql: Sql,
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
    // The plan must not depend on statistics, which may be old.
    const rows = await this.dataSource.transaction(async (manager) => {
      await manager.query(
        'SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off',
      );
      return manager.query<(StoredAuditEvent & Place & { readonly is_end: boolean })[]>(
        this.select(query),
        values,
      );
    });
    const fitting = rows.filter(({ is_end }) => !is_end);
    const last = fitting.length > limit ? fitting[limit - 1] : rows.find(({ is_end }) => is_end);
    const events = fitting
      .slice(0, limit)
      .map(({ place: _place, is_end: _end, ...row }) => auditEventOf(row));
    return { events, next_cursor: last && formatCursor(last) };
  }

  /** Selects the page and, if it is not full, the event at which the walk ended. */
  private select({ user_id, event, result }: AuditDto): string {
    const node = this.sql.distributed ? 'user_id = $4 AND ' : '';
    const isRefusal = result === 'refused' || event?.endsWith('_refused'); // has an index
    const where = `${user_id === undefined ? OF_ALL : node + OF_USER}${isRefusal ? ` AND result = 'refused'` : ''}`;
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
