import { Injectable } from '@nestjs/common';
import { placeOf } from '../../platform/database/page.js';
import { formatCursor, parseCursor, type Place } from '../../platform/http/parameters/cursor.js';
import type { StoredAuditEvent } from '../audit-event.entity.js';
import { toAuditEvent } from '../audit-event.js';
import { AuditWalks } from './audit-walks.js';
import type { AuditDto, AuditEvents } from './audit.dto.js';

/**
 * Events that one page reads at most, whether they match or not: some 50 ms; a quarter of them by an index.
 */
const WALK = 20_000;

type Found = StoredAuditEvent & Place & { readonly is_end: boolean; readonly fits: boolean };

/**
 * Searches the audit trail, newest first (docs/audit.md#search). The time of a search does not depend on the
 * number of events that match.
 */
@Injectable()
export class AuditSearch {
  constructor(private readonly walks: AuditWalks) {}

  /** Returns a page, which may be shorter than `limit`, even empty, and still not be the last one. */
  async find(query: AuditDto): Promise<AuditEvents> {
    const limit = Number(query.limit ?? 50);
    // Selects the page and, if it is not full, the event at which the walk ended.
    const rows = await this.walks.read<Found>(
      query,
      parseCursor(query.cursor),
      WALK,
      ({ events, matches, order }, most) => `
        SELECT *, ${placeOf('at')} AS place FROM (
          SELECT *, (${matches}) AS fits, row_number() OVER (ORDER BY ${order}) = ${most} AS is_end
          FROM (${events} LIMIT ${most}) AS walked
        ) AS numbered
        WHERE fits OR is_end ORDER BY ${order} LIMIT ${limit + 1}`,
    );
    const fitting = rows.filter(({ fits }) => fits);
    const last = fitting.length > limit ? fitting[limit - 1] : rows.find(({ is_end }) => is_end);
    const events = fitting
      .slice(0, limit)
      .map(({ place: _place, is_end: _end, fits: _fits, ...row }) => toAuditEvent(row));
    return { events, next_cursor: last && formatCursor(last) };
  }
}
