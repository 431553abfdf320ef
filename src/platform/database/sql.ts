import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { errorCode } from '../errors/error-facts.js';
import { Events } from '../events.js';
import { outsideTrace, inSpan, statementFacts } from '../spans.js';
import { coalesce } from './batching.js';
import { keepsSession, poolOf } from './pool/data-source.js';

/** A prepared statement, except behind a pooler in transaction mode; `name` must be unique for its `text`. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Removes the comments of a statement. Behind a pooler in transaction mode, it is sent with each call. */
export function withoutComments(text: string): string {
  return text.replace(/\s*--.*$/gm, '');
}

/**
 * Follows a read of "already done", whose commit may not be on the standby, if its wait was cancelled. It
 * writes one record if commits wait for a standby; earlier commits reach the standby before it.
 */
export const CONFIRM_READ = {
  name: 'confirm-read',
  text: `
    SELECT CASE WHEN current_setting('synchronous_standby_names') <> ''
      THEN pg_logical_emit_message(true, 'latchkey', '') END`,
};

/** SQL for the hot paths, on TypeORM's pool; other code uses TypeORM's repositories. */
export class Sql {
  private readonly pool: Pool;
  private readonly named: boolean;
  /** Runs CONFIRM_READ; concurrent calls are batched. */
  readonly confirmRead: () => Promise<void>;

  /** @param distributed whether the rows are on several nodes: some statements have another form there */
  constructor(
    dataSource: DataSource,
    readonly distributed = false,
    private readonly events = new Events(),
  ) {
    this.pool = poolOf(dataSource);
    this.named = keepsSession(dataSource);
    const confirm = this.batched('confirm-read', async (calls: undefined[]) => {
      await this.query(CONFIRM_READ, []);
      return calls;
    });
    this.confirmRead = () => confirm(undefined);
  }

  /** Runs one statement in its own transaction, and returns its rows. */
  async query<Row extends object>({ name, text }: Statement, values: unknown[]): Promise<Row[]> {
    const statement = this.named ? { name, text, values } : { text, values };
    return (await this.pool.query(statement)).rows as Row[];
  }

  /**
   * Batches concurrent calls into one statement (batching.ts), for the metrics as well. A distributed
   * database gets single calls: a statement for rows of many nodes commits in two phases on all.
   *
   * @param name for metrics and spans
   * @param run as for `coalesce`
   */
  batched<Item, Result>(
    name: string,
    run: (items: Item[]) => Promise<Result[]>,
  ): (item: Item) => Promise<Result> {
    if (this.distributed) return async (item) => (await run([item]))[0]!;
    const call = coalesce(async (items: Item[]) => {
      const began = performance.now();
      try {
        return await outsideTrace(() => run(items)); // of many requests
      } finally {
        const seconds = (performance.now() - began) / 1000;
        this.events.emit('statement.batched', { name, calls: items.length, seconds });
      }
    });
    const facts = statementFacts(name);
    return (item) => inSpan(name, facts, () => call(item)); // including the wait
  }
}

/** SQLSTATEs of lock conflicts: serialization_failure, deadlock_detected, lock_not_available. */
const CONFLICTS = new Set<unknown>(['40001', '40P01', '55P03']);

/** Whether a transaction failed because another one has a lock. */
export function isLockConflict(error: unknown): boolean {
  return CONFLICTS.has(errorCode(error));
}
