import type { Client } from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/database/pool/data-source.js';

/** The migrated database of which every test database is a copy. */
export const TEMPLATE = 'latchkey_template';

const LOCK = 1;

/**
 * Makes the template unless another test file has: inside of Jest, whose transform reads the migrations.
 *
 * @param admin connected to another database of the server at `serverUrl` (which ends in `/`)
 */
export async function ensureTemplate(admin: Client, serverUrl: string): Promise<void> {
  await admin.query('SELECT pg_advisory_lock($1)', [LOCK]);
  try {
    const { rowCount } = await admin.query('SELECT FROM pg_database WHERE datname = $1', [TEMPLATE]);
    if (rowCount) return;
    const unfinished = `${TEMPLATE}_unfinished`;
    await admin.query(`DROP DATABASE IF EXISTS ${unfinished} WITH (FORCE)`);
    await admin.query(`CREATE DATABASE ${unfinished}`);
    const dataSource = await new DataSource(dataSourceOptions(serverUrl + unfinished, 1)).initialize();
    try {
      await dataSource.runMigrations();
    } finally {
      await dataSource.destroy(); // nobody may be connected to a template that is copied
    }
    await admin.query(`ALTER DATABASE ${unfinished} RENAME TO ${TEMPLATE}`);
  } finally {
    await admin.query('SELECT pg_advisory_unlock($1)', [LOCK]);
  }
}
