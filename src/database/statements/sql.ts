import type { Pool, QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { Events } from '../../events.js';
import { apart, inSpan } from '../../spans.js';
import { coalesce } from './coalesce.js';
import { keepsSession } from '../pool/data-source.js';
import { statementFacts } from './statement-span.js';

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

  /** Runs one statement, in a transaction of its own, and returns its rows. */
  async query<Row extends QueryResultRow>({ name, text }: Statement, values: unknown[]): Promise<Row[]> {
    const statement = this.named ? { name, text, values } : { text, values };
    return (await this.pool.query<Row>(statement)).rows;
  }

  /**
   * Makes one statement of calls that arrive together (coalesce.ts), and tells of each.
   *
   * @param name of what it does, for metrics
   * @param run takes what was called with, and returns the results in the same order. It is one statement, or one transaction: where
   *   it fails for what may be a fault of one item's row, it is called again with fewer of them, so that the others succeed. On Citus
   *   each item is a batch of its own: a statement for rows of many nodes would commit in two phases on all of them
   */
  together<Item, Result>(
    name: string,
    run: (items: Item[]) => Promise<Result[]>,
  ): (item: Item) => Promise<Result> {
    if (this.distributed) return async (item) => (await run([item]))[0]!;
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
