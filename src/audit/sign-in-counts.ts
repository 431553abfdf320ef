import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../platform/config/settings/settings.js';
import { Clock } from '../platform/database/clock.js';
import { errorCode } from '../platform/errors/error-facts.js';
import { CachedReading } from '../platform/database/limits.js';
import { Sql } from '../platform/database/sql.js';
import { SignInTallies, HOUR_MS, type CountedRow } from './sign-in-tallies.js';

/** Hours that are counted: seven days. @public */
export const HOURS = 168;
/** Events of a time so long ago are all committed: their transactions take seconds. */
const SETTLED_MS = 60_000;
const FRESH_MS = 10_000;
/** Longest wait of a caller; the counting goes on. */
const TIMEOUT_MS = 2000;
const SHORTEST_MS = 1000;

const CANCELED = '57014';

// Raw: a query builder has no windows. Of each hour, provider and event it selects the most frequent errors,
// since clients may report any code. MATERIALIZED prevents a sort of all events.
const COUNT = {
  name: 'audit-sign-ins',
  text: `
    WITH counted AS MATERIALIZED (
      SELECT date_bin('1 hour', at, 'epoch') AS hour, event, provider, error, count(*) AS events, max(at) AS last
      FROM audit_events
      WHERE at >= to_timestamp($1::float8 / 1000) AND at < to_timestamp($2::float8 / 1000)
        AND event IN ('sign_in', 'sign_in_refused')
      GROUP BY 1, 2, 3, 4
    ), ranked AS (
      SELECT hour, event, known, error, events, last,
        row_number() OVER (PARTITION BY hour, event, known ORDER BY events DESC) AS place
      FROM counted LEFT JOIN unnest($3::text[]) AS known ON known = provider
    )
    SELECT extract(epoch FROM hour)::float8 * 1000 AS hour, event, known AS provider,
      CASE WHEN place <= 10 THEN error ELSE 'other' END AS error,
      sum(events)::float8 AS events, extract(epoch FROM max(last))::float8 * 1000 AS last
    FROM ranked GROUP BY 1, 2, 3, 4`,
};

/**
 * Counts sign-ins of the last seven days, on all instances. An event is read once, when it is settled: newest
 * first at the beginning, then what has been added.
 */
@Injectable()
export class SignInCounts {
  private readonly providers: readonly string[];
  private settled = new SignInTallies();
  private recent: CountedRow[] = [];
  /** Begin and end of the settled time that is counted; milliseconds since the epoch. */
  private from = 0;
  private to = 0;
  private readonly counting: CachedReading<void>;

  constructor(
    private readonly sql: Sql,
    private readonly clock: Clock,
    @Inject(SETTINGS) { providers }: Pick<Settings, 'providers'>,
  ) {
    this.providers = [...providers.keys()];
    this.counting = new CachedReading(() => this.count(), FRESH_MS);
  }

  /**
   * Returns tallies, at most ten seconds old. After a start, `countedFrom` shows how far the counting has
   * got.
   */
  async read(): Promise<{ tallies: SignInTallies; countedFrom: number; firstHour: number }> {
    await Promise.race([this.counting.get(), delay(TIMEOUT_MS, undefined, { ref: false })]);
    const tallies = new SignInTallies([...this.settled.rows(), ...this.recent]);
    return { tallies, countedFrom: this.from, firstHour: this.firstHour() };
  }

  private firstHour(): number {
    return (Math.floor(this.clock.now() / HOUR_MS) - HOURS + 1) * HOUR_MS;
  }

  /** Counts what was added, and what is missing at the beginning; one call at a time. */
  async count(): Promise<void> {
    const first = this.firstHour();
    const settled = this.clock.now() - SETTLED_MS;
    if (this.to < first) {
      this.settled = new SignInTallies();
      this.from = this.to = settled;
    }
    this.settled.dropBefore(first);
    while (this.to < settled) {
      const end = Math.min(this.to + HOUR_MS, settled);
      this.settled.add(await this.countRange(this.to, end));
      this.to = end;
    }
    this.recent = await this.countBetween(this.to, Number.MAX_SAFE_INTEGER);
    while (this.from > first) {
      const begin = Math.max(this.from - HOUR_MS, first);
      this.settled.add(await this.countRange(begin, this.from));
      this.from = begin;
    }
  }

  /** Divides a range that takes longer than the statement timeout. */
  private async countRange(begin: number, end: number): Promise<CountedRow[]> {
    try {
      return await this.countBetween(begin, end);
    } catch (error) {
      if (errorCode(error) !== CANCELED || end - begin <= SHORTEST_MS) throw error;
      const middle = (begin + end) / 2;
      return [...(await this.countRange(begin, middle)), ...(await this.countRange(middle, end))];
    }
  }

  private countBetween(begin: number, end: number): Promise<CountedRow[]> {
    return this.sql.query<CountedRow>(COUNT, [begin, end, this.providers]);
  }
}
