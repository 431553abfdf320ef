import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { WITHOUT_ENVIRONMENT, type Address } from './address.js';
import type { Binaries } from './binaries.js';
import { disownStalePid, isAlive, mayBePostmaster, readPostmaster, signalPostmaster } from './postmaster.js';
import { SERVICE } from './provision.js';
import { acceptsConnections } from './socket-directory.js';

// Advisory lock of the cluster's owner, in the database `postgres`.
const OWNERSHIP_LOCK = '7165934107325010';
const POLL_MS = 20;
const TIMEOUT_MS = 30_000;
/** For a server of an unknown state: one that hangs must not delay the start. */
const ANSWERS_WITHIN_MS = 2000;

/**
 * Claims the cluster for as long as the returned connection lives.
 * @param timeoutMs of the connection
 * @returns undefined if another service owns the cluster
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
  client.on('error', () => undefined); // 'end' follows
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
 * Prepares the start of a server at `path`: stops the server of a killed service, which holds no lock, and waits for one that is
 * stopping.
 *
 * @throws if a running service owns the cluster, or a server does not answer
 */
export async function takeOver(
  path: string,
  password: string,
  binaries: Binaries,
  log: (line: string) => void,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let stopped = 0; // the process that was signalled
  for (;;) {
    const running = readPostmaster(path);
    const isHere = running !== undefined && isAlive(running.pid) && mayBePostmaster(running.pid, path);
    // The number means nothing to another container, where PostgreSQL would start on the data a second time.
    if (!isHere && (await acceptsConnections(path))) throw ownedError(path);
    if (!running || !isAlive(running.pid)) return; // PostgreSQL itself ignores the file of a dead server
    if (!isHere) {
      if (disownStalePid(path, running.pid)) return;
      continue; // it ended just now and removed its file
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

/** Whether the server has no owner; false also for a server that is starting or stopping. */
async function isAbandoned(address: Address | undefined, password: string, path: string): Promise<boolean> {
  if (!address) return false;
  const claimed = await claim(address, password, ANSWERS_WITHIN_MS).catch(() => false as const);
  if (claimed === undefined) throw ownedError(path);
  return claimed !== false; // the open connection keeps the lock until the server ends
}

function ownedError(path: string): Error {
  return new Error(
    `another running service owns the database in ${path}: stop it, or choose another DATA_DIR`,
  );
}
