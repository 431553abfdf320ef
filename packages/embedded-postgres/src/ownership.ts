import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { WITHOUT_ENVIRONMENT, type Address } from './address.js';
import type { Binaries } from './binaries.js';
import { disownStalePid, isAlive, mayBePostmaster, readPostmaster, signalPostmaster } from './postmaster.js';
import { SERVICE } from './provision.js';

// The service that holds this lock, in the database `postgres`, owns the cluster. Any fixed number will do.
const OWNERSHIP_LOCK = '7165934107325010';
const POLL_MS = 20;
const PATIENCE_MS = 30_000;
/** For a server of which nothing is known: one that stands still must not keep the others waiting. */
const ANSWERS_WITHIN_MS = 2000;

/**
 * The connection with which a running service owns its cluster, as long as it lives; undefined: another service does.
 * @param timeoutMs until it is connected
 */
export async function claim(
  address: Address,
  password: string,
  timeoutMs: number,
): Promise<Client | undefined> {
  const client = new Client({
    ...WITHOUT_ENVIRONMENT,
    ssl: false,
    ...address,
    user: SERVICE,
    password,
    database: 'postgres',
    application_name: 'latchkey owner',
    connectionTimeoutMillis: timeoutMs,
    keepAlive: true,
  });
  client.on('error', () => undefined); // its end is seen by 'end'
  try {
    await client.connect();
    const { rows } = await client.query<{ owned: boolean }>('SELECT pg_try_advisory_lock($1) AS owned', [
      OWNERSHIP_LOCK,
    ]);
    if (rows[0]?.owned) return client;
  } catch (error) {
    client.end().catch(() => undefined);
    throw error;
  }
  await client.end();
  return undefined;
}

/**
 * Makes room for a server of the cluster at `path`: stops one that an earlier service left behind when it was
 * killed (its lock is free then), and waits for one that is stopping.
 *
 * @throws where a living service owns the cluster, or a server there does not answer
 */
export async function takeOver(
  path: string,
  password: string,
  binaries: Binaries,
  log: (line: string) => void,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const deadline = Date.now() + patienceMs;
  let stopped = 0; // the process that has been told to stop
  for (;;) {
    const running = readPostmaster(path);
    if (!running || !isAlive(running.pid)) return; // PostgreSQL itself ignores the file of a dead server
    if (!mayBePostmaster(running.pid, path)) {
      if (disownStalePid(path, running.pid)) return;
      continue; // it ended just now, and took its file along
    }
    if (Date.now() > deadline) {
      const where = running.address ? ` at ${running.address.host}` : '';
      throw new Error(`process ${running.pid} holds ${path} and neither answers${where} nor ends: stop it`);
    }
    if (running.pid !== stopped && (await isAbandoned(running.address, password, path))) {
      log(`embedded PostgreSQL: an earlier run left a server behind (process ${running.pid}); stopping it`);
      signalPostmaster(running.pid, 'INT', binaries.pgCtl);
      stopped = running.pid;
    }
    await delay(POLL_MS);
  }
}

/** Whether the server has no owner. False also when it does not answer (it is starting or stopping). */
async function isAbandoned(address: Address | undefined, password: string, path: string): Promise<boolean> {
  if (!address) return false;
  const claimed = await claim(address, password, ANSWERS_WITHIN_MS).catch(() => false as const);
  if (claimed === undefined) {
    throw new Error(
      `another running service owns the database in ${path}: stop it, or choose another DATA_DIR`,
    );
  }
  return claimed !== false; // the connection stays open until the server ends, so that nobody else claims the cluster meanwhile
}
