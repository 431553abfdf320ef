import type { ConnectionTarget } from '../database/pool/data-source.js';
import { openCluster } from './open-cluster.js';
import { spread } from './spread.js';

/**
 * Spreads the tables that a new version has made, when it starts on a cluster: statements that write to them and to others
 * need both on one node. They are empty, or nearly so: older instances go on meanwhile.
 */
export async function spreadNewTables(database: ConnectionTarget): Promise<void> {
  const cluster = await openCluster(database);
  try {
    await spread(cluster, () => undefined);
  } finally {
    await cluster.destroy();
  }
}
