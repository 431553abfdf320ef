import { escapeLiteral } from 'pg';
import { SUPERUSER } from './cluster.js';
import { runAsSuperuser, type StoppedCluster } from './single-user.js';

/** The service's role, and its database. */
export const SERVICE = 'latchkey';

/**
 * Creates the service's role in a new cluster, which owns its database and nothing else, and leaves the superuser without
 * a password, so no client can log in as it.
 */
export function provision(cluster: StoppedCluster, password: string): void {
  runAsSuperuser(cluster, 'postgres', [
    `CREATE ROLE ${SERVICE} LOGIN PASSWORD ${escapeLiteral(password)}`,
    `CREATE DATABASE ${SERVICE} OWNER ${SERVICE}`,
    `ALTER ROLE ${SUPERUSER} PASSWORD NULL`,
  ]);
}
