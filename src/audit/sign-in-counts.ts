import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../platform/config/settings/settings.js';
import { Clock } from '../platform/database/clock.js';
import { errorCode } from '../platform/errors/error-facts.js';
import { CachedReading } from '../platform/database/limits.js';
import { Sql } from '../platform/database/sql.js';

const HOUR_MS = 3_600_000;
/** Hours that are counted: seven days. */
const HOURS = 168;
/** Events of a time so long ago are all committed: their transactions take seconds. */
const SETTLED_MS = 60_000;
const FRESH_MS = 10_000;
/** Longest wait of a caller; the counting goes on. */
const TIMEOUT_MS = 2000;
const SHORTEST_MS = 1000;

const CANCELED = '57014'; // by the statement timeout

// Raw: a query builder has no windows. Of each hour, provider and event it selects the most frequent errors,
// since clients may report any code. MATERIALIZED prevents a sort of all events.
const COUNT = {
  name: 'audit-sign-ins',
  text: `
    WITH counted AS MATERIALIZED (
      SELECT event, provider, error, count(*) AS events, max(at) AS last
      FROM audit_events
      WHERE at >= to_timestamp($1::float8 / 1000) AND at < to_timestamp($2::float8 / 1000)
        AND event IN ('sign_in', 'sign_in_refused')
      GROUP BY 1, 2, 3
    ), ranked AS (
      SELECT event, known, error, events, last,
        row_number() OVER (PARTITION BY event, known ORDER BY events DESC) AS place
      FROM counted LEFT JOIN unnest($3::text[]) AS known ON known = provider
    )
    SELECT event, known AS provider,
      CASE WHEN place <= 10 THEN error ELSE 'other' END AS error,
      sum(events)::float8 AS events, extract(epoch FROM max(last))::float8 * 1000 AS last
    FROM ranked GROUP BY 1, 2, 3`,
};

/** Sign-ins, or refusals with an error, of one provider. */
export interface CountedSignIns {
  readonly event: 'sign_in' | 'sign_in_refused';
  /** Null: unknown, or no longer configured. */
  readonly provider: string | null;
  readonly error: string | null;
  readonly events: number;
  /** Time of the last one; milliseconds since the epoch, as all times here. */
  readonly last: number;
}

export interface CountedHour {
  readonly hour: number;
  /** Undefined: not counted yet, after the start of an instance with very many events. */
  readonly counts: readonly CountedSignIns[] | undefined;
}

/** Counts sign-ins of the last seven days, on all instances; an hour again until it is settled. */
@Injectable()
export class SignInCounts {
  private readonly providers: readonly string[];
  /** By begin of the hour. Their size does not depend on the number of sign-ins. */
  private readonly hours = new Map<number, { counts: readonly CountedSignIns[]; isSettled: boolean }>();
  private readonly counting: CachedReading<void>;

  constructor(
    private readonly sql: Sql,
    private readonly clock: Clock,
    @Inject(SETTINGS) { providers }: Pick<Settings, 'providers'>,
  ) {
    this.providers = [...providers.keys()];
    this.counting = new CachedReading(() => this.count(), FRESH_MS);
  }

  /** Returns HOURS hours, oldest first, at most ten seconds old. */
  async read(): Promise<CountedHour[]> {
    await Promise.race([this.counting.get(), delay(TIMEOUT_MS, undefined, { ref: false })]);
    const hours = Array.from({ length: HOURS }, (_, i) => this.firstHour() + i * HOUR_MS);
    const [last, before] = [hours.at(-1)!, hours.at(-2)!];
    // An hour that has just begun was not counted yet.
    if (this.hours.has(before) && !this.hours.has(last))
      this.hours.set(last, { counts: [], isSettled: false });
    return hours.map((hour) => ({ hour, counts: this.hours.get(hour)?.counts }));
  }

  /** Counts what is not settled, newest first; one call at a time. */
  async count(): Promise<void> {
    const [first, now] = [this.firstHour(), this.clock.now()];
    for (const hour of this.hours.keys()) if (hour < first) this.hours.delete(hour);
    for (let hour = first + (HOURS - 1) * HOUR_MS; hour >= first; hour -= HOUR_MS) {
      if (this.hours.get(hour)?.isSettled) continue;
      const counts = await this.countRange(hour, hour + HOUR_MS);
      this.hours.set(hour, { counts, isSettled: hour + HOUR_MS + SETTLED_MS <= now });
    }
  }

  private firstHour(): number {
    return (Math.floor(this.clock.now() / HOUR_MS) - HOURS + 1) * HOUR_MS;
  }

  /** Divides a range that takes longer than the statement timeout. */
  private async countRange(begin: number, end: number): Promise<CountedSignIns[]> {
    try {
      return await this.sql.query<CountedSignIns>(COUNT, [begin, end, this.providers]);
    } catch (error) {
      if (errorCode(error) !== CANCELED || end - begin <= SHORTEST_MS) throw error;
      const middle = (begin + end) / 2;
      return [...(await this.countRange(begin, middle)), ...(await this.countRange(middle, end))];
    }
  }
}
