import { Client } from 'pg';
import { dataSourceOptions } from '../../../src/database/pool/data-source.js';
import { migrate } from '../../../src/database/start/migrate.js';
import type { Cleanup } from '../cleanup.js';
import type { Database } from '../database.js';
import type { Report } from '../report-file.js';
import type { Options } from '../options.js';

/** What all measurements of growth share. */
export interface GrowthBench {
  readonly options: Options;
  readonly report: Report;
  readonly cleanup: Cleanup;
  readonly admin: Client;
  readonly database: Database;
  readonly providerUrl: string;
}

export async function newDatabase(
  { admin, database, cleanup }: GrowthBench,
  name: string,
): Promise<{ url: string; client: Client }> {
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(database.url);
  url.pathname = `/${name}`;
  const patience = { patienceMs: 10_000, signal: new AbortController().signal, log: () => undefined };
  await migrate(dataSourceOptions(url.href, 1), patience);
  const client = new Client(url.href);
  await client.connect();
  cleanup.add(() => client.end());
  return { url: url.href, client };
}
