import { pipeline } from 'node:stream/promises';
import { Reflector } from '@nestjs/core';
import { Client, escapeIdentifier, type Submittable } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import type { DataSource } from 'typeorm';
import { ENTITIES } from '../../entities.js';
import type { ConnectionTarget } from '../../platform/database/pool/connection-target.js';
import { NO_TIMEOUTS } from '../../platform/database/start/migrate.js';
import { Transient } from '../../platform/database/transient.js';

export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
}

/** Rows of a table, from a database or a file. */
export interface TableRows {
  readonly table: Table;
  /** In the text format of COPY. It is read once, and before the rows of the next table. */
  readonly data: AsyncIterable<Buffer>;
  /** Number of rows until now. */
  readonly count: () => number;
}

const CONNECT_MS = 5000;
const NEWLINE = 10;

/** Returns the tables of all features, in any order: none refers to another one (backup.spec.ts). */
export function copiedTables(dataSource: DataSource): Table[] {
  const reflector = new Reflector();
  return ENTITIES.filter((entity) => !reflector.get<unknown>(Transient, entity)).map((entity) => {
    const { tableName: name, columns } = dataSource.getMetadata(entity);
    return { name, columns: columns.map(({ databaseName }) => databaseName) };
  });
}

/** Opens one connection, which has no time-outs of a pool. */
export async function withClient<Result>(
  { Client: ClientOfTarget }: ConnectionTarget,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const options = { application_name: 'latchkey', connectionTimeoutMillis: CONNECT_MS, keepAlive: true };
  const client = new ClientOfTarget({ ...options, ...NO_TIMEOUTS });
  client.on('error', () => undefined); // the statement rejects, too
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}

// - A name of the copy: readers of the service wait for transactions with its name (commit-reader.ts).
// - A copy may take hours: no time-out of role, database or URL applies, but that for a lock.
// - The text format of COPY depends on the others.
const SETTINGS = `
  SELECT set_config(name, value, true) FROM (VALUES
    ('application_name', 'latchkey-copy'),
    ('statement_timeout', '0'), ('idle_in_transaction_session_timeout', '0'), ('transaction_timeout', '0'),
    ('lock_timeout', '30s'),
    ('client_encoding', 'UTF8'), ('DateStyle', 'ISO'), ('IntervalStyle', 'postgres'), ('extra_float_digits', '3')
  ) AS settings (name, value) WHERE current_setting(name, true) IS NOT NULL`;

/** Kind of a transaction that reads one consistent state. */
export const SNAPSHOT = 'ISOLATION LEVEL REPEATABLE READ READ ONLY';

/** Runs work in one transaction, which is rolled back if it fails or is aborted. */
export function inTransaction<Result>(
  target: ConnectionTarget,
  kind: typeof SNAPSHOT | 'READ WRITE',
  signal: AbortSignal,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  return withClient(target, async (client) => {
    signal.throwIfAborted();
    signal.addEventListener('abort', () => void client.end()); // at once, also during a statement
    await client.query(`BEGIN ${kind}`);
    await client.query(SETTINGS);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  });
}

const FIND_TABLES = `
  SELECT relname AS name FROM pg_class
  WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relkind IN ('r', 'p')
    AND relname = ANY ($1)`;

/** @throws if a table has a row. Tables without rows may remain of an interrupted copy. */
export async function requireNoRows(client: Client, tables: readonly Table[]): Promise<void> {
  for (const name of await findTables(client, tables)) {
    const { rowCount } = await client.query(`SELECT FROM ${escapeIdentifier(name)} LIMIT 1`);
    if (rowCount !== 0)
      throw new Error(`the database is not empty (${name} has rows): name an empty database`);
  }
}

/**
 * Locks tables until the end of the transaction: an instance that starts during the copy waits, and writes
 * nothing.
 */
export async function lockTables(client: Client, tables: readonly Table[]): Promise<void> {
  const names = await findTables(client, tables);
  await client.query(`LOCK TABLE ${names.map((name) => escapeIdentifier(name)).join(', ')}`);
}

async function findTables(client: Client, tables: readonly Table[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(FIND_TABLES, [tables.map(({ name }) => name)]);
  return rows.map(({ name }) => name);
}

const FIND_INDEXES = `
  SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
  WHERE indrelid = ANY ($1::text[]::regclass[])
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)`;

/**
 * Drops the indexes of tables, since it takes a fraction of the time to make them at the end.
 * @returns makes them again, and collects statistics, without which the first statements have bad plans
 */
export async function dropIndexes(client: Client, tables: readonly Table[]): Promise<() => Promise<void>> {
  const names = (await findTables(client, tables)).map((name) => escapeIdentifier(name));
  const { rows } = await client.query<{ name: string; definition: string }>(FIND_INDEXES, [names]);
  if (rows.length > 0) await client.query(`DROP INDEX ${rows.map(({ name }) => name).join(', ')}`);
  return async () => {
    for (const { definition } of rows) await client.query(definition);
    await client.query(`ANALYZE ${names.join(', ')}`);
  };
}

/** Yields the rows of tables, table by table. @param client in a transaction with one snapshot */
export async function* readTables(client: Client, tables: readonly Table[]): AsyncGenerator<TableRows> {
  for (const table of tables) {
    const stream = send(client, copyTo(`COPY ${describe(table)} TO STDOUT`));
    stream.on('error', () => undefined); // thrown to the reader
    let count = 0;
    async function* data(): AsyncGenerator<Buffer> {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        count += countRows(chunk);
        yield chunk;
      }
    }
    yield { table, data: data(), count: () => count };
  }
}

/** Counts rows of the text format, which has a newline within a value as `\n`. */
export function countRows(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

/**
 * Stores the rows of tables, and compares their numbers. @param client in a transaction
 * @returns number of rows
 */
export async function storeTables(
  client: Client,
  tables: AsyncIterable<TableRows>,
  signal: AbortSignal,
): Promise<number> {
  let total = 0;
  for await (const { table, data, count } of tables) {
    const stream = send(client, copyFrom(`COPY ${describe(table)} FROM STDIN`));
    await pipeline(data, stream, { signal });
    if (stream.rowCount !== count())
      throw new Error(`of ${count()} rows of ${table.name} ${stream.rowCount} were stored`);
    total += stream.rowCount;
  }
  return total;
}

/** Sends by pg's own method: that of limited-client.ts is not for streams. */
function send<Stream extends Submittable>(client: Client, stream: Stream): Stream {
  const { query } = Client.prototype as { query: (this: Client, stream: Stream) => Stream };
  return query.call(client, stream);
}

function describe({ name, columns }: Table): string {
  return `${escapeIdentifier(name)} (${columns.map((column) => escapeIdentifier(column)).join(', ')})`;
}
