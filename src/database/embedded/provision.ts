import { Client } from 'pg';
import { SUPERUSER } from './cluster.js';

const NAME = 'latchkey';

/**
 * Makes, where they are missing, the service's own user and database. The user is no superuser: a hole in the service
 * must not reach the server's files.
 *
 * @returns the service's connection URL
 */
export async function provision(port: number, password: string): Promise<string> {
  const admin = new Client({ host: '127.0.0.1', port, user: SUPERUSER, password, database: 'postgres' });
  await admin.connect();
  try {
    const role = await admin.query('SELECT FROM pg_roles WHERE rolname = $1', [NAME]);
    if (!role.rowCount)
      await admin.query(`CREATE ROLE ${NAME} LOGIN PASSWORD ${admin.escapeLiteral(password)}`);
    const database = await admin.query('SELECT FROM pg_database WHERE datname = $1', [NAME]);
    if (!database.rowCount) await admin.query(`CREATE DATABASE ${NAME} OWNER ${NAME}`);
  } finally {
    await admin.end();
  }
  return `postgres://${NAME}:${password}@127.0.0.1:${port}/${NAME}`;
}
