import { Client } from 'pg';
import type { Address } from './address.js';
import { SUPERUSER } from './cluster.js';

/** The service's role, and its database. */
export const SERVICE = 'latchkey';

/**
 * Makes, where they are missing, the service's own user and database. The user is no superuser: a hole in the service
 * must not reach the server's files.
 */
export async function provision(address: Address, password: string): Promise<void> {
  const admin = new Client({ ...address, user: SUPERUSER, password, database: 'postgres' });
  await admin.connect();
  try {
    const role = await admin.query('SELECT FROM pg_roles WHERE rolname = $1', [SERVICE]);
    if (!role.rowCount)
      await admin.query(`CREATE ROLE ${SERVICE} LOGIN PASSWORD ${admin.escapeLiteral(password)}`);
    const database = await admin.query('SELECT FROM pg_database WHERE datname = $1', [SERVICE]);
    if (!database.rowCount) await admin.query(`CREATE DATABASE ${SERVICE} OWNER ${SERVICE}`);
  } finally {
    await admin.end();
  }
}
