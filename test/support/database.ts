import { randomBytes } from 'node:crypto';
import { Client, type QueryResultRow } from 'pg';
import type { DatabaseOptions } from '../../src/platform/database/pool/data-source.js';

/** Instead of the service's limits of 1 s for a statement and for a connection, which a busy machine exceeds. */
export const UNHURRIED_MS = 30_000;
const UNHURRIED = `statement_timeout=${UNHURRIED_MS}&query_timeout=${UNHURRIED_MS}`;

const TEMPLATE = 'latchkey_template';
const TEMPLATE_LOCK = 1;

export interface TestDatabase {
  readonly url: string;
  /** Drops it and closes its connections. */
  close(): Promise<void>;
}

/**
 * A fresh, migrated database on the run's PostgreSQL; about 20 ms, once the first has made the template. With `CITUS_URL`
 * (`npm run test:all -- citus`): distributed tables in a new schema of that cluster; about two seconds.
 */
export async function createDatabase(): Promise<TestDatabase> {
  const coordinator = process.env['CITUS_URL'];
  if (coordinator !== undefined) {
    const { createCitusDatabase } = await import('./citus.js');
    return createCitusDatabase(coordinator);
  }
  await administer(ensureTemplate);
  return createFrom(TEMPLATE);
}

/** A database without any table, for tests of the migrations themselves. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return createFrom('template0');
}

/** Returns the URL with a limit of UNHURRIED_MS for statements. */
export function unhurried(url: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}${UNHURRIED}`;
}

export function isUnhurried(url: string): boolean {
  return url.endsWith(UNHURRIED);
}

/** Returns the options with a limit of UNHURRIED_MS for statements and connections. */
export function unhurriedOptions(options: DatabaseOptions): DatabaseOptions {
  const extra = { ...options.extra, query_timeout: UNHURRIED_MS, statement_timeout: UNHURRIED_MS };
  return { ...options, connectTimeoutMS: UNHURRIED_MS, extra };
}

/** Makes the migrated database that all others are copies of, unless another spec file has made it. */
async function ensureTemplate(admin: Client): Promise<void> {
  await admin.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]); // until the connection ends
  const { rowCount } = await admin.query('SELECT FROM pg_database WHERE datname = $1', [TEMPLATE]);
  if (rowCount) return;
  const { DataSource } = await import('typeorm');
  const { dataSourceOptions } = await import('../../src/platform/database/pool/data-source.js');
  const { MIGRATIONS } = await import('../../src/entities.js');
  const unfinished = `${TEMPLATE}_unfinished`;
  await admin.query(`DROP DATABASE IF EXISTS ${unfinished} WITH (FORCE)`);
  await admin.query(`CREATE DATABASE ${unfinished}`);
  const dataSource = await new DataSource({
    ...dataSourceOptions(serverUrl() + unfinished, 1),
    migrations: MIGRATIONS,
  }).initialize();
  try {
    await dataSource.runMigrations();
  } finally {
    await dataSource.destroy(); // PostgreSQL copies a database only if it has no connections
  }
  await admin.query(`ALTER DATABASE ${unfinished} RENAME TO ${TEMPLATE}`);
}

async function createFrom(template: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await administer((admin) => admin.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`));
  return {
    url: serverUrl() + name,
    close: () => administer((admin) => admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
  };
}

function serverUrl(): string {
  const url = process.env['TEST_DATABASE_SERVER'];
  if (!url)
    throw new Error('there is no test database: run this through Jest, whose global setup starts one');
  return url;
}

async function administer(work: (admin: Client) => Promise<unknown>): Promise<void> {
  const admin = new Client(`${serverUrl()}postgres`);
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}

/** Returns a new connection; to be ended. */
export async function connect(databaseUrl: string): Promise<Client> {
  const client = new Client(databaseUrl);
  await client.connect();
  return client;
}

/** Runs SQL on a new connection. */
export async function query<Row extends QueryResultRow = Record<string, unknown>>(
  databaseUrl: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new Client(databaseUrl);
  client.on('error', () => undefined); // a lost connection rejects the query, too
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

// These tables say who is connected where; a timer rewrites them.
const ADVISORY = ['instances', 'presence'];

/**
 * Every row of every table, as text: to check that something changed nothing, or is stored nowhere.
 * @param refusals whether refusals of the audit trail are included, which are written a moment after the answer
 */
export async function dump(databaseUrl: string, { refusals = false } = {}): Promise<string> {
  const client = new Client(databaseUrl);
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND tablename <> ALL ($1) ORDER BY 1`,
      [ADVISORY],
    );
    const all = tables.rows.map(({ name }) => `SELECT '${name} ' || t::text AS row FROM "${name}" t`);
    const { rows } = await client.query<{ row: string }>(`${all.join(' UNION ALL ')} ORDER BY 1`);
    const isRefusal = ({ row }: { row: string }): boolean => /^audit_events .*,refused,/.test(row);
    return rows
      .filter((row) => refusals || !isRefusal(row))
      .map(({ row }) => row)
      .join('\n');
  } finally {
    await client.end();
  }
}
