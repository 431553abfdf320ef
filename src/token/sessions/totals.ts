import { Injectable } from '@nestjs/common';
import { errorCode } from '../../errors/error-facts.js';
import { CachedReading } from '../../database/limits.js';
import { Sql } from '../../database/sql.js';
import { Events } from '../../events.js';
import { LIVING } from './session.sql.js';

const LIVE = `refresh_tokens WHERE ${LIVING}`;
const FRESH_MS = 60_000;

/** Up to here a count is exact; it takes some 100 ms. */
const EXACT = 1_000_000;
const CANCELED = '57014'; // it took too long

interface Plan {
  readonly 'QUERY PLAN': readonly [{ readonly Plan: { readonly 'Plan Rows'?: number } }];
}

/** Numbers of users and of live sessions: counted at most once a minute, and only on demand. */
@Injectable()
export class Totals {
  readonly users: CachedReading<number>;
  readonly liveSessions: CachedReading<number>;

  constructor(sql: Sql, events: Events) {
    this.users = new CachedReading(() => countRows(sql, 'users-count', 'users'), FRESH_MS);
    this.liveSessions = new CachedReading(() => countRows(sql, 'sessions-count', LIVE), FRESH_MS);
    events.on('total.requested', (report) => {
      report('users', this.users.get());
      report('live_sessions', this.liveSessions.get());
    });
  }
}

/**
 * Counts rows in bounded time: exactly up to about a million, or as the planner estimates them. On Citus always exactly.
 * @param from table and condition, without parameters
 */
async function countRows(sql: Sql, name: string, from: string): Promise<number> {
  const estimate = sql.distributed ? 0 : await estimateRows(sql, name, from);
  if (estimate > EXACT) return estimate;
  try {
    const statement = { name, text: `SELECT count(*)::float8 AS rows FROM ${from}` };
    const [counted] = await sql.query<{ rows: number }>(statement, []);
    return counted!.rows;
  } catch (error) {
    if (sql.distributed || errorCode(error) !== CANCELED) throw error;
    return estimate;
  }
}

async function estimateRows(sql: Sql, name: string, from: string): Promise<number> {
  const statement = { name: `${name}-estimate`, text: `EXPLAIN (FORMAT JSON) SELECT FROM ${from}` };
  const [row] = await sql.query<Plan>(statement, []);
  return row?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}
