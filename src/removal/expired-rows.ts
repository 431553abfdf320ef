import type { Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { Expires, type Expiry } from '../database/expires.js';
import type { Statement } from '../database/sql.js';

/** How many rows one statement looks at: a few milliseconds of work, far below the statement timeout. */
export const BATCH = 1000;

/** The lock that lets one instance at a time remove rows; each batch holds it for its own transaction. */
export const REMOVAL_LOCK = 0x6c6b_0003;

export interface ExpiredRows {
  readonly table: string;
  /**
   * Its parameter is the expiry to go on from (`-infinity` at first). It looks at the next batch of expired rows, the oldest
   * first, and removes those that are not needed any more and not locked by others. It returns one row: `Batch`.
   */
  readonly removeBatch: Statement;
}

export interface Batch {
  /** How many expired rows it looked at; also 0 while another instance is removing. */
  readonly seen: number;
  readonly removed: number;
  /** Where to go on; null when nothing was seen. */
  readonly next: string | null;
}

/** Every table whose rows expire, as its entity says (`@Expires`). */
export function expiredRows({ entityMetadatas }: DataSource): ExpiredRows[] {
  const reflector = new Reflector();
  const tables = entityMetadatas.flatMap(({ target, tableName }) => {
    const expiry = reflector.get<Expiry | undefined>(Expires.KEY, target as Type);
    return expiry ? [{ ...expiry, tableName }] : [];
  });
  const inOrder = [...tables.filter(({ first }) => first), ...tables.filter(({ first }) => !first)];
  return inOrder.map(({ tableName, mayGo }) => removalOf(tableName, mayGo));
}

/**
 * Rows that must stay are passed over: after a batch that removed nothing, the next one begins behind it. Otherwise the next
 * one begins at the last expiry of this one, so that none of many rows with the same expiry is left out.
 *
 * @param mayGo condition on a row, for tables whose rows may be needed beyond their expiry
 */
function removalOf(table: string, mayGo = 'true'): ExpiredRows {
  const text = `
    WITH turn AS MATERIALIZED (
      SELECT pg_try_advisory_xact_lock(${REMOVAL_LOCK}) AS is_ours
    ), seen AS MATERIALIZED (
      SELECT ctid AS row, expires_at FROM ${table}
      WHERE (SELECT is_ours FROM turn) AND expires_at >= $1::timestamptz AND expires_at < now()
      ORDER BY expires_at LIMIT ${BATCH}
    ), held AS MATERIALIZED (
      SELECT ctid AS row FROM ${table}
      WHERE ctid = ANY (ARRAY(SELECT row FROM seen)) AND ${mayGo}
      FOR UPDATE SKIP LOCKED
    ), removed AS (
      DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT row FROM held)) RETURNING 1
    ), counted AS (
      SELECT count(*)::int AS removed FROM removed
    )
    SELECT count(*)::int AS seen, counted.removed,
      (max(expires_at) + CASE counted.removed WHEN 0 THEN interval '1 microsecond' ELSE '0' END)::text AS next
    FROM counted LEFT JOIN seen ON true
    GROUP BY counted.removed`;
  return { table, removeBatch: { name: `remove-expired-${table}`, text } };
}
