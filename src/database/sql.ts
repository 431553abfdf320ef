import { DatabaseError, type Pool, type QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { Events } from '../events.js';
import { apart, inSpan } from '../spans.js';
import { coalesce } from './coalesce.js';
import { keepsSession, QUERY_TIMEOUT_MS } from './data-source.js';
import { stoodStillSince, timeNow } from './standstill.js';
import { statementFacts } from './statement-span.js';

const CANCELED = '57014'; // query_canceled

/**
 * A statement that PostgreSQL parses and plans once per connection, unless a pooler hands each transaction another one:
 * `name` must be unique for its `text`.
 */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/**
 * SQL by hand for the hot paths, on the pool that TypeORM owns: a named statement costs a third of a repository call.
 * Everywhere else, TypeORM's repositories.
 */
export class Sql {
  private readonly pool: Pool;
  private readonly named: boolean;

  /** @param distributed whether the tables are spread over a Citus cluster: some statements have another form there */
  constructor(
    dataSource: DataSource,
    readonly distributed = false,
    private readonly events = new Events(),
  ) {
    this.pool = (dataSource.driver as PostgresDriver).master as Pool;
    this.named = keepsSession(dataSource);
  }

  /**
   * Runs one statement, in a transaction of its own, and returns its rows. Where this process stood still meanwhile, mostly
   * with all of its machine, PostgreSQL may find that the statement's time is over: it has done nothing then, and is sent once
   * more. Not on Citus, where a node may have committed it before the coordinator found that.
   */
  async query<Row extends QueryResultRow>({ name, text }: Statement, values: unknown[]): Promise<Row[]> {
    const statement = this.named ? { name, text, values } : { text, values };
    try {
      return (await this.pool.query<Row>(statement)).rows;
    } catch (error) {
      // By the server: neither given up by us, nor committed on one server only (CommitUnconfirmed), which have the same code.
      const isEnded = error instanceof DatabaseError && error.code === CANCELED;
      // Not longer ago than it may have been under way: before, it waited for a connection.
      if (this.distributed || !isEnded || !stoodStillSince(timeNow() - QUERY_TIMEOUT_MS)) throw error;
      return (await this.pool.query<Row>(statement)).rows;
    }
  }

  /**
   * Makes one statement of calls that arrive together (coalesce.ts), and tells of each.
   *
   * @param name of what it does, for metrics
   * @param run takes what was called with, and returns the results in the same order. It is one statement, or one transaction: where
   *   it fails for what may be a fault of one item's row, it is called again with fewer of them, so that the others succeed
   */
  together<Item, Result>(
    name: string,
    run: (items: Item[]) => Promise<Result[]>,
  ): (item: Item) => Promise<Result> {
    const call = coalesce(async (items: Item[]) => {
      const began = performance.now();
      try {
        return await apart(() => run(items)); // of many requests
      } finally {
        const seconds = (performance.now() - began) / 1000;
        this.events.emit('statement.shared', { name, calls: items.length, seconds });
      }
    });
    const facts = statementFacts(name);
    return (item) => inSpan(name, facts, () => call(item)); // with the wait, and the others
  }
}
