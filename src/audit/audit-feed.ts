import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { horizon, MARGIN, SELECT_MOMENT, type Moment } from '../platform/database/commit-reader.js';
import { placeOf, timeAt } from '../platform/database/page.js';
import { databaseUnavailable } from '../platform/errors/oauth-error.js';
import { formatCursor, parseCursor } from '../platform/http/parameters/cursor.js';
import { toAuditEvent, NO_USER, type AuditEvent } from './audit-event.js';
import { StoredAuditEvent } from './audit-event.entity.js';
import { KEEPS_TIME_MS } from './audit.sql.js';

/** Events of one statement; they fit into the bound of a stream, also if JSON escapes each character. */
const PAGE_SIZE = 100;

/** Place in the trail (http/parameters/cursor.ts), valid on all instances and after a restored backup. */
export type Cursor = string;

export interface AuditPage {
  readonly events: readonly { readonly event: AuditEvent; readonly cursor: Cursor }[];
  /** Behind these events, and behind all older ones. */
  readonly cursor: Cursor;
  readonly hasMore: boolean;
}

/**
 * Reads the audit trail up to the horizon (platform/database/commit-reader.ts): in the order of commits per
 * user. A refusal may be older than its transaction, by KEEPS_TIME_MS.
 */
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
      const [moment] = await manager.query<Moment[]>(SELECT_MOMENT); // no table
      if (moment!.isStandby) throw databaseUnavailable();
      const end = horizon(moment!) - KEEPS_TIME_MS * 1000;
      const endCursor = formatStart(end);
      const from = parseCursor(after);
      if (!after || !from || Number(from.place) > moment!.at - MARGIN)
        return { events: [], cursor: endCursor, hasMore: false };
      const { entities, raw } = await manager
        .createQueryBuilder(StoredAuditEvent, 'event')
        .addSelect(placeOf('event.at'), 'place')
        .where(`(event.at, event.id) > (${timeAt(':place')}, :id::uuid)`, from)
        .andWhere(`event.at < ${timeAt(':end')}`, { end })
        .orderBy('event.at')
        .addOrderBy('event.id')
        .limit(PAGE_SIZE)
        .getRawAndEntities<{ place: string }>();
      const events = entities.map((row, i) => ({
        event: toAuditEvent(row),
        cursor: formatCursor({ place: raw[i]!.place, id: row.id }),
      }));
      const hasMore = events.length === PAGE_SIZE;
      const cursor = hasMore ? events.at(-1)!.cursor : endCursor;
      return { events, cursor: isBefore(cursor, after) ? after : cursor, hasMore };
    });
  }
}

function formatStart(place: number): Cursor {
  return formatCursor({ place: String(place), id: NO_USER });
}

export function isBefore(cursor: Cursor, other: Cursor): boolean {
  const [one, two] = [parseCursor(cursor)!, parseCursor(other)!];
  return one.place === two.place ? one.id < two.id : Number(one.place) < Number(two.place);
}

/** Milliseconds since the epoch. */
export function parseTime(cursor: Cursor): number {
  return parseInt(cursor, 10) / 1000;
}
