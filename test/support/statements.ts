import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Statement } from '../../src/platform/database/sql.js';
import { createDatabase, unhurried, type TestDatabase } from './database.js';
import { waiting } from './waiting.js';

type Row = Record<string, unknown>;

const BY_INSERTION = ['indexscan', 'indexonlyscan', 'bitmapscan', 'mergejoin']
  .map((plan) => `-c enable_${plan}=off`)
  .join(' ');

/** For tests of single statements: one migrated database for the spec file. Each test makes new users. */
export function useStatements() {
  let database: TestDatabase;
  let pool: pg.Pool;
  let unsorted: pg.Pool;
  beforeAll(async () => {
    database = await createDatabase();
    const connectionString = unhurried(database.url);
    pool = new pg.Pool({ connectionString, max: 5 });
    unsorted = new pg.Pool({ connectionString, options: BY_INSERTION });
    // The database may be dropped before a connection has ended.
    for (const one of [pool, unsorted]) one.on('error', () => undefined);
  });
  afterAll(async () => {
    await pool?.end();
    await unsorted?.end();
    await database?.close();
  });

  type Run = (statement: string | Pick<Statement, 'text'>, values?: unknown[]) => Promise<Row[]>;
  const runOn =
    (findPool: () => pg.Pool): Run =>
    async (statement, values = []) => {
      const text = typeof statement === 'string' ? statement : statement.text;
      return (await findPool().query<Row>(text, values)).rows;
    };
  const run = runOn(() => pool);

  async function inTransaction<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      return await work(client);
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  }

  return {
    run,
    /** As `run`, with a plan that reads rows as they were inserted: only ORDER BY gives them another order. */
    runUnsorted: runOn(() => unsorted),
    /** Inserts a row. @returns it */
    insert: async <Values extends Row>(table: string, row: Values): Promise<Values> => {
      const places = Object.keys(row).map((_, i) => `$${i + 1}`);
      const text = `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${places.join(', ')})`;
      await run(text, Object.values(row));
      return row;
    },

    /**
     * Executes a statement that has to wait for another transaction.
     * @param held what that transaction does
     * @param look is called while the statement waits; then the other transaction is committed
     */
    whileHeld: <Result>(
      [text, values]: readonly [string, unknown[]],
      statement: () => Promise<Result>,
      look: (holder: pg.PoolClient) => Promise<unknown> = () => Promise.resolve(),
    ): Promise<Result> =>
      inTransaction(async (holder) => {
        await holder.query(text, values);
        const result = statement();
        if (!(await waiting(database.url, 1, result))) {
          await result; // its own error, if it has failed
          throw new Error('the statement did not wait');
        }
        try {
          await look(holder);
        } finally {
          await holder.query('COMMIT');
        }
        return result;
      }),

    /** Executes what must not wait for the lock of another transaction. */
    whileLocked: (
      [text, values]: readonly [string, unknown[]],
      work: () => Promise<unknown>,
    ): Promise<unknown> =>
      inTransaction(async (holder) => {
        await holder.query(text, values);
        return work();
      }),

    /** Whether a statement of another transaction would wait for a lock; nothing of it stays. */
    isBlocked: (text: string, values: unknown[]): Promise<boolean> =>
      inTransaction(async (client) => {
        await client.query(`SET LOCAL lock_timeout = '1ms'`);
        try {
          await client.query(text, values);
          return false;
        } catch (error) {
          if ((error as pg.DatabaseError).code === '55P03') return true;
          throw error;
        }
      }),
  };
}

/** Ids in the order in which PostgreSQL sorts them. */
export const sortedIds = (count: number): string[] =>
  Array.from({ length: count }, () => randomUUID()).toSorted();

/** Rows in the order of the parameters. */
export const byPlace = (rows: readonly Row[]): Row[] =>
  rows.toSorted((a, b) => Number(a['place']) - Number(b['place']));

const DAY_MS = 86_400_000;

/** Columns of a live session. */
export const sessionOf = (userId: string, columns: Row = {}) => ({
  user_id: userId,
  session_id: randomUUID(),
  token_hash: Buffer.alloc(32),
  expires_at: new Date(Date.now() + DAY_MS),
  ...columns,
});

/** Columns of a user. */
export const userOf = (userId: string = randomUUID(), columns: Row = {}) => ({
  user_id: userId,
  provider: 'corp',
  provider_user_id: userId,
  ...columns,
});
