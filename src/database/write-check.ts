import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { BoundedPool } from './bounded-pool.js';
import { errorCode } from './error-facts.js';
import { Sql } from './sql.js';

/** A write that succeeded answers for so long: at most one a second, however many ask. */
const FRESH_MS = 1000;
/** A write that fails counts when none has succeeded for so long: a slow moment must not take all instances out at once. */
const SLOW_MOMENT_MS = 2000;
/** A disk without room for a table's next page may still take our small write: what other statements saw of it counts. */
const DISK_FULL_MS = 10_000;

const READ_ONLY = '25006';
// undefined_function, feature_not_supported, insufficient_privilege: a relative of PostgreSQL, which has answered.
const CANNOT_TELL = new Set<unknown>(['42883', '0A000', '42501']);

// The smallest thing that is written as durably as a token: one record of the write-ahead log, which the commit flushes and
// waits for the standby with. It needs no table and leaves nothing to vacuum. (The heartbeat's table is unlogged.)
const WRITE = {
  name: 'write-check',
  text: `
    SELECT CASE current_setting('transaction_read_only')
      WHEN 'off' THEN pg_logical_emit_message(true, 'latchkey', '') END IS NULL AS "isReadOnly"`,
};

/** Whether the database takes durable writes now (contract §4). */
@Injectable()
export class WriteCheck {
  private readonly pool: BoundedPool;
  private underWay: Promise<void> | undefined;
  private succeededAt = -Infinity;

  constructor(
    private readonly sql: Sql,
    dataSource: DataSource,
  ) {
    this.pool = (dataSource.driver as PostgresDriver).master as BoundedPool;
  }

  /** @throws why nothing can be written: within 2 s, in which this process has run */
  async check(): Promise<void> {
    const now = performance.now();
    if (now - this.pool.diskFullAt < DISK_FULL_MS) throw new Error('the disk of the database is full');
    if (now - this.succeededAt < FRESH_MS) return;
    this.underWay ??= this.write().finally(() => (this.underWay = undefined));
    await this.underWay;
  }

  private async write(): Promise<void> {
    try {
      const [row] = await this.sql.query<{ isReadOnly: boolean }>(WRITE, []);
      if (row!.isReadOnly) throw Object.assign(new Error('the database is read-only'), { code: READ_ONLY });
    } catch (error) {
      const isPatient = performance.now() - this.succeededAt < SLOW_MOMENT_MS;
      if (isPatient) return;
      if (!CANNOT_TELL.has(errorCode(error))) throw error;
    }
    this.succeededAt = performance.now();
  }
}
