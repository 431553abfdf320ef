import { Injectable } from '@nestjs/common';
import { errorCode } from '../../platform/errors/error-facts.js';
import { CachedReading } from '../../platform/database/limits.js';
import { Sql } from '../../platform/database/sql.js';
import { Events } from '../../platform/events.js';
import { LIVING } from './session.sql.js';

const FRESH_MS = 60_000;

/** Up to here a count is exact; it takes some 100 ms. */
const EXACT = 1_000_000;
const CANCELED = '57014'; // it took too long

interface Plan {
  readonly 'QUERY PLAN': readonly [{ readonly Plan: { readonly 'Plan Rows'?: number } }];
}

/** Rows that are counted. */
export interface Counted {
  /** Of the statement. */
  readonly name: string;
  /** Table and condition, without parameters. */
  readonly from: string;
}

const USERS: Counted = { name: 'users-count', from: 'users' };
const LIVE_SESSIONS: Counted = { name: 'sessions-count', from: `refresh_tokens WHERE ${LIVING}` };

/**
 * Numbers of users and of live sessions: counted at most once a minute, and only on demand.
 */
@Injectable()
export class Totals {
  readonly users = new CachedReading(() => this.count(USERS), FRESH_MS);
  readonly liveSessions = new CachedReading(() => this.count(LIVE_SESSIONS), FRESH_MS);

  constructor(
    private readonly sql: Sql,
    events: Events,
  ) {
    events.on('total.requested', (report) => {
      report('users', this.users.get());
      report('live_sessions', this.liveSessions.get());
    });
  }

  /** Counts in bounded time: exactly up to about a million rows, beyond that as the planner estimates. */
  protected async count(counted: Counted): Promise<number> {
    const estimate = await this.estimate(counted);
    if (estimate > EXACT) return estimate;
    try {
      return await this.countExactly(counted);
    } catch (error) {
      if (errorCode(error) !== CANCELED) throw error;
      return estimate;
    }
  }

  // Raw: both are prepared, and the planner must see the statement that it estimates.
  protected async countExactly({ name, from }: Counted): Promise<number> {
    const statement = { name, text: `SELECT count(*)::float8 AS rows FROM ${from}` };
    const [row] = await this.sql.query<{ rows: number }>(statement, []);
    return row!.rows;
  }

  private async estimate({ name, from }: Counted): Promise<number> {
    const statement = { name: `${name}-estimate`, text: `EXPLAIN (FORMAT JSON) SELECT FROM ${from}` };
    const [row] = await this.sql.query<Plan>(statement, []);
    return row?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
  }
}
