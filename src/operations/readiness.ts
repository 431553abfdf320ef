import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { BoundedPool } from '../platform/database/pool/bounded-pool.js';
import { poolOf } from '../platform/database/pool/data-source.js';
import { errorCode, errorMessage } from '../platform/errors/error-facts.js';
import { Sql } from '../platform/database/sql.js';
import { RedisConnection } from '../platform/redis/redis-connection.js';

/** A successful write is the result of all checks for this time. */
const FRESH_MS = 1000;
/** A slow write counts this long after a successful one: a short delay must not stop all instances. */
const SLOW_MOMENT_MS = 2000;
/** A check waits this long for the server while the last write is fresh; a stopped server refuses at once. */
const PROMPT_MS = 250;

const READ_ONLY = '25006';
// undefined_function, feature_not_supported, insufficient_privilege: a database similar to PostgreSQL.
const CANNOT_TELL = new Set<unknown>(['42883', '0A000', '42501']);

// One record of the write-ahead log is as durable as a token: the commit flushes it and waits for the
// standby. It needs no table, and leaves nothing to vacuum.
const WRITE = {
  name: 'write-check',
  text: `
    SELECT CASE current_setting('transaction_read_only')
      WHEN 'off' THEN pg_logical_emit_message(true, 'latchkey', '') END IS NULL AS "isReadOnly"`,
};

/** Between two writes, checks that the server answers. */
const READ = { name: 'read-check', text: 'SELECT' };

// SQLSTATEs and codes of Node.js, or the messages of pg and its pool.
const SLOW = /^57014$|^53|timeout/i; // canceled, no resources
const LOST = /^(57P0[12]|0800[036]|ECONNRESET|EPIPE)$|^Connection terminated|connection error|not queryable/i;

/** Whether a load balancer should send requests to this instance (docs/production.md#behind-a-proxy). */
@Injectable()
export class Readiness {
  /** Set before the service stops: the instance is not ready then. */
  isStopping = false;

  private readonly logger = new Logger(Readiness.name);
  private readonly pool: BoundedPool;
  private readonly diskRoom: DiskRoom;
  private wasWritable = true;
  private underWay: Promise<void> | undefined;
  private succeededAt = -Infinity;

  constructor(
    private readonly sql: Sql,
    dataSource: DataSource,
    @Inject(RedisConnection) private readonly redisConnection: RedisConnection | undefined,
  ) {
    this.pool = poolOf(dataSource);
    this.diskRoom = new DiskRoom(sql, this.pool);
  }

  /** Returns `up` if the database can be written to. The reason for `down` is in the log only. */
  async database(): Promise<'up' | 'down'> {
    const { wasWritable } = this;
    try {
      await this.check();
      this.wasWritable = true;
      if (!wasWritable) this.logger.log('the database can be written to again');
      return 'up';
    } catch (error) {
      this.wasWritable = false;
      if (wasWritable) this.logger.warn({ msg: 'not ready: the database cannot be written to', err: error });
      return 'down';
    }
  }

  async redis(): Promise<'up' | 'down' | undefined> {
    if (!this.redisConnection) return undefined;
    return (await this.redisConnection.isUp()) ? 'up' : 'down';
  }

  /** @throws within 2 s if nothing can be written, with the reason */
  private async check(): Promise<void> {
    const isFresh = !this.diskRoom.isFull && performance.now() - this.succeededAt < FRESH_MS;
    this.underWay ??= this.ask(isFresh).finally(() => (this.underWay = undefined));
    if (!isFresh) return this.underWay;
    this.underWay.catch(() => undefined); // it may end after this check
    await Promise.race([this.underWay, delay(PROMPT_MS)]);
  }

  /** Retries on lost connections: an operator may have ended all of the pool. */
  private async ask(isFresh: boolean): Promise<void> {
    for (let lost = 0; ; lost++) {
      try {
        return await this.probe(isFresh);
      } catch (error) {
        const code = errorCode(error);
        const facts = typeof code === 'string' ? code : errorMessage(error);
        const isSlow = SLOW.test(facts);
        if (!isSlow && LOST.test(facts) && lost <= this.pool.options.max) continue;
        if (isSlow && performance.now() - this.succeededAt < SLOW_MOMENT_MS) return;
        this.succeededAt = -Infinity;
        throw error;
      }
    }
  }

  private async probe(isFresh: boolean): Promise<void> {
    if (this.diskRoom.isFull) await this.diskRoom.check();
    try {
      const [row] = await this.sql.query<{ isReadOnly?: boolean }>(isFresh ? READ : WRITE, []); // of no table
      if (row?.isReadOnly) throw Object.assign(new Error('the database is read-only'), { code: READ_ONLY });
    } catch (error) {
      if (isFresh || !CANNOT_TELL.has(errorCode(error))) throw error;
    }
    if (!isFresh) this.succeededAt = performance.now();
  }
}

const EVERY_MS = 1000;
/** Without the right to look, the disk counts as full this long after each statement that found it full. */
const FULL_MS = 4000;
// insufficient_privilege, feature_not_supported: no temporary tables here
const CANNOT_LOOK = new Set<unknown>(['42501', '0A000']);

// A full disk may accept small writes in files with room left. This takes a megabyte until its commit.
const TAKE_ROOM = {
  name: 'room-check',
  text: `
    CREATE TEMPORARY TABLE latchkey_room ON COMMIT DROP AS
    SELECT repeat('x', 1000) AS room FROM generate_series(1, 1000)`,
};

/** The disk of the database counts as full once a statement has found it so, until there is room again. */
class DiskRoom {
  constructor(
    private readonly sql: Sql,
    private readonly pool: Pick<BoundedPool, 'diskFullAt'>,
  ) {}

  get isFull(): boolean {
    return this.pool.diskFullAt !== -Infinity;
  }

  /** @throws while the disk is full */
  async check(): Promise<void> {
    const { diskFullAt } = this.pool;
    if (this.isFullFor(EVERY_MS)) throw full();
    try {
      await this.sql.query(TAKE_ROOM, []); // of no table of ours
    } catch (error) {
      if (!CANNOT_LOOK.has(errorCode(error))) throw this.pool.diskFullAt === diskFullAt ? error : full(error);
      if (this.isFullFor(FULL_MS)) throw full();
    }
    if (this.pool.diskFullAt === diskFullAt) this.pool.diskFullAt = -Infinity;
  }

  private isFullFor(ms: number): boolean {
    return performance.now() - this.pool.diskFullAt < ms;
  }
}

/** Without the code, by which Readiness knows a slow moment. */
function full(cause?: unknown): Error {
  return new Error('the disk of the database is full', { cause });
}
