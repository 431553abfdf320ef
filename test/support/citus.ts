import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { targetOf } from '../../src/platform/database/pool/connection-target.js';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { MIGRATIONS } from '../../src/entities.js';
import { AuditStore } from '../../src/audit/audit.store.js';
import { CitusAuditStore } from '../../src/citus/stores.js';
import type { Settings } from '../../src/platform/config/settings/settings.js';
import type { Sql } from '../../src/platform/database/sql.js';
import type { Events } from '../../src/platform/events.js';
import { migrate } from '../../src/platform/database/start/migrate.js';
import { distributeNewTables } from '../../src/commands/distribute/distribute.js';
import type { TestDatabase } from './database.js';

const retries = { timeoutMs: 10_000, signal: new AbortController().signal, log: () => undefined };

/** Creates a schema in the database of a Citus coordinator; the URL sets it as search path. */
export async function createCitusSchema(coordinator: string): Promise<TestDatabase> {
  const schema = `test_${randomBytes(8).toString('hex')}`;
  await run(coordinator, `CREATE SCHEMA ${schema}`);
  const url = new URL(coordinator);
  url.searchParams.set('options', `-c search_path=${schema}`);
  return { url: url.href, close: () => run(coordinator, `DROP SCHEMA ${schema} CASCADE`) };
}

/** Creates such a schema with the service's tables, migrated and distributed. */
export async function createCitusDatabase(coordinator: string): Promise<TestDatabase> {
  const database = await createCitusSchema(coordinator);
  await migrate({ ...dataSourceOptions(database.url, 1), migrations: MIGRATIONS }, retries);
  await distributeNewTables(targetOf(() => database.url, 'session'));
  return database;
}

/** Without the dependencies of a service. */
export function createAuditStore(
  dataSource: DataSource,
  { distributed }: Sql,
  events: Events,
  settings: Pick<Settings, 'auditRetentionDays' | 'auditClaims'>,
): AuditStore {
  return new (distributed ? CitusAuditStore : AuditStore)(dataSource, events, settings);
}

async function run(url: string, text: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query("SET client_min_messages = 'error'");
    await client.query(text);
  } finally {
    await client.end();
  }
}
