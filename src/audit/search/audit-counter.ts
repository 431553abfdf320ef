import { Injectable } from '@nestjs/common';
import { Clock } from '../../platform/database/clock.js';
import { NO_USER } from '../audit-event.js';
import { AuditWalks, type Walk } from './audit-walks.js';
import type { AuditCount, AuditCounts, AuditCountsDto, AuditFilters } from './audit.dto.js';

/** Events that one call reads at most, whether they match or not. */
const WALK = 100_000;
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

interface Counted {
  readonly counts: AuditCount[];
  /** Whether all were read, and the time of the oldest that was. */
  readonly is_all: boolean;
  readonly oldest: Date | null;
}

/** Counts the newest events of the audit trail (docs/audit.md#counts). */
@Injectable()
export class AuditCounter {
  constructor(
    private readonly walks: AuditWalks,
    private readonly clock: Clock,
  ) {}

  async count({ by, ...filters }: AuditCountsDto): Promise<AuditCounts> {
    const end = filters.until === undefined ? this.clock.now() : Date.parse(filters.until);
    const until = new Date(end).toISOString();
    const earliest = by === 'hour' ? end - MOST_HOURS * HOUR_MS : -Infinity;
    const begin = Math.max(Date.parse(filters.since ?? '') || -Infinity, earliest);
    const since = Number.isFinite(begin) ? new Date(begin).toISOString() : undefined;
    const range: AuditFilters = { ...filters, until };
    if (since !== undefined) range.since = since;
    if (by === 'error') range.result ??= 'refused'; // only refusals have an error, and an index
    const [counted] = await this.walks.read<Counted>(range, undefined, WALK, (walk, most) =>
      select(by, walk, most),
    );
    const { counts, is_all, oldest } = counted!;
    const reached = is_all && since !== undefined ? since : (oldest?.toISOString() ?? until);
    return { counts, since: reached, until };
  }
}

function select(by: keyof typeof KEYS, { events, matches }: Walk, most: number): string {
  const [keys, order] = by === 'hour' ? [MOST_HOURS + 1, 'key'] : [MOST_KEYS, 'attempts DESC, key'];
  return `
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
    FROM walked`;
}
