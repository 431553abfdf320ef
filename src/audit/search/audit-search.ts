import { Injectable } from '@nestjs/common';
import { placeOf } from '../../platform/database/page.js';
import { formatCursor, parseCursor, type Place } from '../../platform/http/parameters/cursor.js';
import type { StoredAuditEvent } from '../audit-event.entity.js';
import { NO_USER, toAuditEvent } from '../audit-event.js';
import { AuditWalks } from './audit-walks.js';
import type {
  AuditCount,
  AuditCounts,
  AuditCountsDto,
  AuditDto,
  AuditEvents,
  AuditFilters,
} from './audit.dto.js';

/** Events that one page reads at most, matching or not: some 50 ms; a quarter of them by an index. */
const PAGE_WALK = 20_000;
/** Events that one call counts at most, whether they match or not. */
const COUNT_WALK = 100_000;

/** Keys that are distinguished: clients may report any error. */
const MOST_KEYS = 100;
/** Hours that are distinguished: 31 days. */
const MOST_HOURS = 744;
const HOUR_MS = 3_600_000;

const KEYS = {
  error: 'error',
  event: 'event',
  provider: 'provider',
  hour: `to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:00:00.000"Z"')`,
} as const;
const PERSON = `CASE WHEN user_id <> '${NO_USER}' THEN user_id::text ELSE coalesce(provider_user_id, address) END`;

type Found = StoredAuditEvent & Place & { readonly is_end: boolean; readonly fits: boolean };

interface Counted {
  readonly counts: AuditCount[];
  /** Whether all were read, and the time of the oldest that was. */
  readonly is_all: boolean;
  readonly oldest: Date | null;
}

/** Users who became part of others. The module of users, which lies above, has them. */
export abstract class FormerUsers {
  /** Returns the ids by which a user was known before, a few. */
  abstract formerIds(userId: string): Promise<readonly string[]>;
}

/** Searches and counts the trail, newest first, in a time that does not depend on the number of matches. */
@Injectable()
export class AuditSearch {
  constructor(
    private readonly walks: AuditWalks,
    private readonly former: FormerUsers,
  ) {}

  /**
   * Returns a page, which may be shorter than `limit`, even empty, and still not be the last one. Of a user,
   * it has the events of the users who became part of this one.
   */
  async find(query: AuditDto): Promise<AuditEvents> {
    const { user_id, ...others } = query;
    const limit = Number(query.limit ?? 50);
    const parts = [await this.findNewest(query, limit)];
    for (const id of user_id === undefined ? [] : await this.former.formerIds(user_id))
      parts.push(await this.findNewest({ ...others, user_id: id }, limit));
    // Beyond it, one of the walks may not have seen all.
    const [end] = parts.flatMap((part) => part.end ?? []).toSorted(newestFirst);
    const found = parts
      .flatMap((part) => part.found)
      .filter((row) => !end || newestFirst(row, end) <= 0)
      .toSorted(newestFirst);
    const last = found.length > limit ? found[limit - 1] : end;
    const events = found
      .slice(0, limit)
      .map(({ place: _place, is_end: _end, fits: _fits, ...row }) => toAuditEvent(row));
    return { events, next_cursor: last && formatCursor(last) };
  }

  /** @returns `end`: after it, there may be more; undefined: there is nothing */
  private async findNewest(
    query: AuditDto,
    limit: number,
  ): Promise<{ found: Found[]; end?: Found | undefined }> {
    // Selects the page and, if it is not full, the event at which the walk ended.
    const rows = await this.walks.read<Found>(
      query,
      parseCursor(query.cursor),
      PAGE_WALK,
      ({ events, matches, order }, most) => `
        SELECT *, ${placeOf('at')} AS place FROM (
          SELECT *, (${matches}) AS fits, row_number() OVER (ORDER BY ${order}) = ${most} AS is_end
          FROM (${events} LIMIT ${most}) AS walked
        ) AS numbered
        WHERE fits OR is_end ORDER BY ${order} LIMIT ${limit + 1}`,
    );
    const fitting = rows.filter(({ fits }) => fits);
    const found = fitting.slice(0, limit);
    return { found, end: fitting.length > limit ? found.at(-1) : rows.find(({ is_end }) => is_end) };
  }

  /** Counts the newest events (docs/audit.md#counts). @param now milliseconds since the epoch */
  async count({ by, ...filters }: AuditCountsDto, now: number): Promise<AuditCounts> {
    const end = filters.until === undefined ? now : Date.parse(filters.until);
    const until = new Date(end).toISOString();
    const earliest = by === 'hour' ? end - MOST_HOURS * HOUR_MS : -Infinity;
    const begin = Math.max(Date.parse(filters.since ?? '') || -Infinity, earliest);
    const since = Number.isFinite(begin) ? new Date(begin).toISOString() : undefined;
    const range: AuditFilters = { ...filters, until };
    if (since !== undefined) range.since = since;
    if (by === 'error') range.result ??= 'refused'; // only refusals have an error, and an index
    const [keys, order] = by === 'hour' ? [MOST_HOURS + 1, 'key'] : [MOST_KEYS, 'attempts DESC, key'];
    const [counted] = await this.walks.read<Counted>(
      range,
      undefined,
      COUNT_WALK,
      ({ events, matches }, most) => `
        WITH walked AS MATERIALIZED (
          SELECT at, CASE WHEN ${matches} THEN ${KEYS[by]} END AS key, ${PERSON} AS person
          FROM (${events} LIMIT ${most}) AS events
        ), frequent AS (
          SELECT key FROM walked WHERE key IS NOT NULL GROUP BY key ORDER BY count(*) DESC, key LIMIT ${keys}
        ), counts AS (
          SELECT CASE WHEN key IN (SELECT key FROM frequent) THEN key ELSE 'other' END AS key,
            count(*) AS attempts, count(DISTINCT person) AS people
          FROM walked WHERE key IS NOT NULL GROUP BY 1
        )
        SELECT count(*) < ${most} AS is_all, min(at) AS oldest,
          (SELECT coalesce(json_agg(counts ORDER BY ${order}), '[]') FROM counts) AS counts
        FROM walked`,
    );
    const { counts, is_all, oldest } = counted!;
    const reached = is_all && since !== undefined ? since : (oldest?.toISOString() ?? until);
    return { counts, since: reached, until };
  }
}

function newestFirst(one: Place, other: Place): number {
  const [a, b] = [BigInt(one.place), BigInt(other.place)];
  if (a !== b) return a > b ? -1 : 1;
  return one.id > other.id ? -1 : Number(one.id < other.id);
}
