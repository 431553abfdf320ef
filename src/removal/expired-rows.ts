import type { Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { Expires, type Expiry } from '../database/expires.js';
import type { Statement } from '../database/sql.js';

/** How many rows one statement looks at: a few milliseconds of work, far below the statement timeout. */
export const BATCH = 1000;

/** First key of the locks for a turn; the second names the table. Each batch holds one, for its own transaction. */
export const REMOVAL_LOCK = 0x6c6b_0003;

/**
 * How many instances remove rows of a table side by side: their batches have no row in common. More would leave
 * requests less than half of a small database. An instance that finds no turn leaves the table to the others until its next run.
 */
const SIDE_BY_SIDE = 2;

export interface ExpiredRows {
  readonly table: string;
  /** Whether its rows must not wait for those of other tables. */
  readonly first: boolean;
  /**
   * Its parameter is the expiry to go on from (`-infinity` at first). It looks at the next batch of expired rows, the oldest
   * first, and removes those that are not needed any more and not locked by others. It returns one row: `Batch`.
   */
  readonly removeBatch: Statement;
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

/** Every table whose rows expire, as its entity says (`@Expires`). */
export function expiredRows({ entityMetadatas }: DataSource): ExpiredRows[] {
  const reflector = new Reflector();
  const tables = entityMetadatas.flatMap(({ target, tableName, primaryColumns }) => {
    const expiry = reflector.get<Expiry | undefined>(Expires.KEY, target as Type);
    if (!expiry) return [];
    const { first = false, mayGo } = expiry;
    const key = primaryColumns.map(({ databaseName }) => databaseName).join(', ');
    const text = mayGo === undefined ? removeAll(tableName) : removeSome(tableName, key, mayGo);
    const removeBatch = { name: `remove-expired-${tableName}`, text };
    return [{ table: tableName, first, removeBatch, mayGo: mayGo ?? 'true' }];
  });
  return tables.toSorted((a, b) => Number(b.first) - Number(a.first));
}

/**
 * Rows are locked as they are looked at, and the locked ones passed over: so each instance has rows of its own. A row that is
 * locked stays where it is, so its place (`ctid`) is enough: 3 µs of the database a row, by primary key it is 7.
 */
function removeAll(table: string): string {
  return `
    WITH ${turn(table, SIDE_BY_SIDE)}, seen AS MATERIALIZED (
      ${look(table, 'ctid AS place, expires_at')} FOR UPDATE SKIP LOCKED
    ), removed AS (
      DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT place FROM seen)) RETURNING 1
    )
    ${BATCH_ROW}`;
}

/**
 * Rows that must stay are looked at and passed over: the next batch begins behind them. They are not locked, since that would
 * write to each at every run; so two instances would look at the same rows, and only one is at it. The condition is asked
 * again of a row that is locked: it may have been signed out meanwhile.
 *
 * @param mayGo condition on a row
 */
function removeSome(table: string, key: string, mayGo: string): string {
  return `
    WITH ${turn(table, 1)}, seen AS MATERIALIZED (
      ${look(table, '*')}
    ), held AS MATERIALIZED (
      SELECT ${key} FROM ${table}
      WHERE (${key}) IN (SELECT ${key} FROM seen AS ${table} WHERE ${mayGo}) AND ${mayGo}
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

function look(table: string, columns: string): string {
  return `
      SELECT ${columns} FROM ${table}
      WHERE (SELECT is_ours FROM turn) AND expires_at >= $1::timestamptz AND expires_at < now()
      ORDER BY expires_at LIMIT ${BATCH}`;
}

// While rows are removed the next batch begins where this one ended, so that none of many with the same expiry is left out.
const BATCH_ROW = `
    SELECT count(*)::int AS seen, counted.removed,
      (max(expires_at) + CASE counted.removed WHEN 0 THEN interval '1 microsecond' ELSE '0' END)::text AS next
    FROM (SELECT count(*)::int AS removed FROM removed) AS counted LEFT JOIN seen ON true
    GROUP BY counted.removed`;
