import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { postgresBinaries } from '../../packages/embedded-postgres/src/binaries.js';
import { clusterDirectory } from '../../packages/embedded-postgres/src/cluster-directory.js';
import { ensureCluster, SUPERUSER } from '../../packages/embedded-postgres/src/cluster.js';
import { freePort } from '../../packages/embedded-postgres/src/free-port.js';
import { startServer } from '../../packages/embedded-postgres/src/server.js';
import { sharedPlace } from '../../packages/embedded-postgres/src/shared-place.js';

// One PostgreSQL for a whole run of Jest, fast instead of durable: crash tests start their own.
const SETTINGS = ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off', 'max_connections=200'];

process.on('SIGINT', () => undefined); // Ctrl-C reaches Jest as well, whose end is the signal that counts

const dataDir = mkdtempSync(join(tmpdir(), 'latchkey-test-'));
const { path, account } = clusterDirectory(dataDir, () => undefined);
const binaries = postgresBinaries(account, () => (account ? sharedPlace('programs') : dataDir));
const password = ensureCluster(path, { binaries, account, options: ['--no-sync'] });
const port = await freePort();
const server = await startServer({ binaries, account, path, port, settings: SETTINGS });

async function stop(): Promise<void> {
  await server.stop();
  for (const directory of [dataDir, dirname(path)]) rmSync(directory, { recursive: true, force: true });
}

process.once('disconnect', () => void stop()); // at Jest's teardown, and at Jest's death: nothing stays behind
process.send?.(`postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/`);
