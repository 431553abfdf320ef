import type { Settings } from '../../platform/config/settings/settings.js';
import { Injectable, type Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { Expires, type Expiry, type Retention } from '../../platform/database/expires.js';
import { Sql, type Statement } from '../../platform/database/sql.js';

/** Rows of one batch: a few milliseconds of work, far below the statement timeout. */
export const BATCH = 1000;

/** First key of the advisory locks; the second is the table: one batch each at a time, on all instances. */
export const REMOVAL_LOCK = 0x6c6b_0003;

export interface ExpiringTable extends Expiry {
  readonly table: string;
  /** Column of the time; default: `expires_at`. */
  readonly column?: string;
  /** SQL expression: rows before this time have expired; default: `now()`. */
  readonly until?: string;
  readonly key: string;
}

export interface Batch {
  readonly removed: number;
  /** Expiry at which the next batch begins; null if no row is left, or if another instance holds the lock. */
  readonly next: string | null;
}

/** Removes expired rows in batches. */
export abstract class ExpiredRows {
  /** Size of the first batch. */
  abstract readonly size: number;
  abstract readonly largest: number;

  /** @param from expiry at which the batch begins */
  abstract removeBatch(table: ExpiringTable, size: number, from: string): Promise<Batch>;
}

/** The oldest expired rows, up to `size` of them. */
@Injectable()
export class RowBatches extends ExpiredRows {
  readonly size = BATCH;
  readonly largest = BATCH;

  constructor(private readonly sql: Sql) {
    super();
  }

  async removeBatch(table: ExpiringTable, size: number, from: string): Promise<Batch> {
    const [batch] = await this.sql.query<Batch & { seen: number }>(buildRemoval(table, size), [from]);
    return { removed: batch!.removed, next: batch!.seen < size ? null : batch!.next };
  }
}

/** Tables of the entities with `@Expires`; `first` ones come first. */
export function expiringTables(
  { entityMetadatas }: DataSource,
  settings: Pick<Settings, 'auditRetentionDays'>,
): ExpiringTable[] {
  const reflector = new Reflector();
  const tables = entityMetadatas.flatMap(({ target, tableName, primaryColumns }) => {
    const expiry = reflector.get<Expiry | undefined>(Expires.KEY, target as Type);
    const key = primaryColumns.map(({ databaseName }) => databaseName).join(', ');
    if (!expiry) return [];
    const { age } = expiry;
    const until = age && { column: age.column, until: `now() - interval '${settings[age.days]} days'` };
    return [{ table: tableName, key, ...expiry, ...until }];
  });
  return tables.toSorted((a, b) => Number(b.first ?? false) - Number(a.first ?? false));
}

/**
 * Builds the statement of one batch, by the expiry at which it begins. Raw: it finds, locks and deletes at
 * once. After a removal the next batch begins at its last one, which others may have.
 */
export function buildRemoval(expiring: ExpiringTable, rows = BATCH): Statement {
  const { table, unless } = expiring;
  return {
    name: `remove-expired-${table}-${rows}`,
    text: `
    WITH lock AS MATERIALIZED (
      SELECT pg_try_advisory_xact_lock(${REMOVAL_LOCK}, hashtext('${table}')) AS is_ours
    ), ${unless === undefined ? deleteAll(expiring, rows) : deleteSome(expiring, unless, rows)}
    SELECT count(*)::int AS seen, counted.removed,
      (max(expires_at) + CASE counted.removed WHEN 0 THEN interval '1 microsecond' ELSE '0' END)::text AS next
    FROM (SELECT count(*)::int AS removed FROM removed) AS counted LEFT JOIN seen ON true
    GROUP BY counted.removed`,
  };
}

/** A locked row stays in its place: `ctid` finds it at less than half the cost of the primary key. */
function deleteAll(expiring: ExpiringTable, rows: number): string {
  const { table, column = 'expires_at' } = expiring;
  return `seen AS MATERIALIZED (
      ${selectOldest(expiring, `ctid AS place, ${column} AS expires_at`, rows)} FOR UPDATE SKIP LOCKED
    ), removed AS (
      DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT place FROM seen)) RETURNING 1
    )`;
}

/**
 * Rows that must stay are passed over, and not locked, since a lock writes to the row. The condition is
 * repeated under the lock, since a session may have been signed out in between. `EXCEPT` compares in linear
 * time.
 */
function deleteSome(expiring: ExpiringTable, { isDue, selectRetained }: Retention, rows: number): string {
  const { table, key } = expiring;
  return `seen AS MATERIALIZED (
      ${selectOldest(expiring, '*', rows)}
    ), due AS MATERIALIZED (
      SELECT ${key} FROM seen AS ${table} WHERE ${isDue}
    ), needless AS MATERIALIZED (
      SELECT ${key} FROM due EXCEPT (${selectRetained('due')})
    ), locked AS MATERIALIZED (
      SELECT ${key} FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM needless) AND ${isDue}
      FOR UPDATE SKIP LOCKED
    ), removed AS (
      DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM locked) RETURNING 1
    )`;
}

function selectOldest(expiring: ExpiringTable, columns: string, rows: number): string {
  const { table, column = 'expires_at', until = 'now()' } = expiring;
  return `
      SELECT ${columns} FROM ${table}
      WHERE (SELECT is_ours FROM lock) AND ${column} >= $1::timestamptz AND ${column} < ${until}
      ORDER BY ${column} LIMIT ${rows}`;
}
