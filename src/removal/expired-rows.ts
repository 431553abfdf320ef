import type { Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { Expires, type Expiry, type Retention } from '../database/expires.js';
import type { Statement } from '../database/statements/sql.js';
import { errorCode } from '../database/statements/error-facts.js';
import { isDatabaseAway } from '../errors/database-error.js';

/** How many rows one statement looks at: a few milliseconds of work, far below the statement timeout. */
export const BATCH = 1000;

/** First key of the locks for a turn; the second names the table. Each batch holds one, for its own transaction. */
export const REMOVAL_LOCK = 0x6c6b_0003;

/**
 * How many instances remove rows of a table side by side: their batches have no row in common. More would leave
 * requests less than half of a small database. An instance that finds no turn leaves the table to the others until its next run.
 */
const SIDE_BY_SIDE = 2;

/** How many batches of a table may fail in a row, halving included, before the table is left until the next run. */
export const MOST_FAILURES = 20;

const CANCELED = '57014'; // query_canceled: given up by the client, or by the server

/** Whether a statement may succeed with fewer rows, or without one of them: it took too long, or the server refused a row. */
export function mayDoWithFewer(error: unknown): boolean {
  const code = errorCode(error);
  if (code === CANCELED) return true;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !isDatabaseAway(error);
}

export interface ExpiredRows {
  readonly table: string;
  /** Whether its rows must not wait for those of other tables. */
  readonly first: boolean;
  /**
   * Its parameter is the expiry to go on from (`-infinity` at first). It looks at the next batch of expired rows, the oldest
   * first, and removes those that are not needed any more and not locked by others. It returns one row: `Batch`.
   */
  readonly removeBatch: Statement;
  /** `removeBatch` with fewer rows than BATCH, if a whole batch has failed. */
  readonly removeFewer: (rows: number) => Statement;
  /** Looks at the next batch and removes nothing. Parameter as of `removeBatch`; returns one row: `Look`. */
  readonly look: Statement;
  /** Condition on an expired row: it is not needed any more. */
  readonly mayGo: string;
}

export interface Batch {
  /** How many expired rows there were to look at; 0 as well while others have the turns. */
  readonly seen: number;
  readonly removed: number;
  /** Where to go on; null when nothing was seen. */
  readonly next: string | null;
}

export interface Look {
  /** How many expired rows there are to look at. */
  readonly seen: number;
  /** Position behind the first of these rows; null if nothing was seen. */
  readonly behind: string | null;
}

/** Every table whose rows expire, as its entity says (`@Expires`). */
export function expiredRows({ entityMetadatas }: DataSource): ExpiredRows[] {
  const reflector = new Reflector();
  const tables = entityMetadatas.flatMap(({ target, tableName, primaryColumns }) => {
    const expiry = reflector.get<Expiry | undefined>(Expires.KEY, target as Type);
    if (!expiry) return [];
    const { first = false, unless } = expiry;
    const key = primaryColumns.map(({ databaseName }) => databaseName).join(', ');
    const batch = (rows: number): string =>
      unless === undefined ? removeAll(tableName, rows) : removeSome(tableName, key, unless, rows);
    const name = `remove-expired-${tableName}`;
    return [
      {
        table: tableName,
        first,
        removeBatch: { name, text: batch(BATCH) },
        removeFewer: (rows: number) => ({ name: `${name}-${rows}`, text: batch(rows) }),
        look: { name: `look-at-expired-${tableName}`, text: lookOnly(tableName) },
        mayGo: unless?.mayGo ?? 'true',
      },
    ];
  });
  return tables.toSorted((a, b) => Number(b.first) - Number(a.first));
}

/**
 * Rows are locked as they are looked at, and the locked ones passed over: so each instance has rows of its own. A row that is
 * locked stays where it is, so its place (`ctid`) is enough: 3 µs of the database a row, by primary key it is 7.
 */
function removeAll(table: string, rows: number): string {
  return `
    WITH ${turn(table, SIDE_BY_SIDE)}, seen AS MATERIALIZED (
      ${look(table, 'ctid AS place, expires_at', rows)} FOR UPDATE SKIP LOCKED
    ), removed AS (
      DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT place FROM seen)) RETURNING 1
    )
    ${BATCH_ROW}`;
}

/**
 * Rows that must stay are looked at and passed over: the next batch begins behind them. They are not locked, since that would
 * write to each at every run; so two instances would look at the same rows, and only one is at it. The condition is asked
 * again of a row that is locked: it may have been signed out meanwhile. `EXCEPT` compares in linear time, whatever the planner
 * knows of the rows.
 */
function removeSome(table: string, key: string, { isDue, keptOf }: Retention, rows: number): string {
  return `
    WITH ${turn(table, 1)}, seen AS MATERIALIZED (
      ${look(table, '*', rows)}
    ), due AS MATERIALIZED (
      SELECT ${key} FROM seen AS ${table} WHERE ${isDue}
    ), needless AS MATERIALIZED (
      SELECT ${key} FROM due EXCEPT (${keptOf('due')})
    ), held AS MATERIALIZED (
      SELECT ${key} FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM needless) AND ${isDue}
      FOR UPDATE SKIP LOCKED
    ), removed AS (
      DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM held) RETURNING 1
    )
    ${BATCH_ROW}`;
}

/** One of so many turns, if one is free. */
function turn(table: string, turns: number): string {
  const free = Array.from(
    { length: turns },
    (_, i) => `WHEN pg_try_advisory_xact_lock(${REMOVAL_LOCK}, hashtext('${table} ${i}')) THEN true`,
  );
  return `turn AS MATERIALIZED (SELECT CASE ${free.join(' ')} ELSE false END AS is_ours)`;
}

function look(table: string, columns: string, rows: number): string {
  return `
      SELECT ${columns} FROM ${table}
      WHERE (SELECT is_ours FROM turn) AND expires_at >= $1::timestamptz AND expires_at < now()
      ORDER BY expires_at LIMIT ${rows}`;
}

function lookOnly(table: string): string {
  return `
    SELECT count(*)::int AS seen, (min(expires_at) + interval '1 microsecond')::text AS behind
    FROM (
      SELECT expires_at FROM ${table} WHERE expires_at >= $1::timestamptz AND expires_at < now()
      ORDER BY expires_at LIMIT ${BATCH}
    ) AS next`;
}

// While rows are removed the next batch begins where this one ended, so that none of many with the same expiry is left out.
const BATCH_ROW = `
    SELECT count(*)::int AS seen, counted.removed,
      (max(expires_at) + CASE counted.removed WHEN 0 THEN interval '1 microsecond' ELSE '0' END)::text AS next
    FROM (SELECT count(*)::int AS removed FROM removed) AS counted LEFT JOIN seen ON true
    GROUP BY counted.removed`;
