import { execFile } from 'node:child_process';
import { chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { SUPERUSER } from '../../packages/embedded-postgres/src/cluster.js';
import type { ClusterDirectory } from '../../packages/embedded-postgres/src/cluster-directory.js';
import type { PostgresNode } from './postgres-node.js';

/** By this name a standby is known to its primary. */
export const STANDBY = 'standby';

// Without the log: a standby reads it from its primary. What goes away while it is read was of no use any more.
const COPY = `tar -C "$0" --exclude='./pg_wal/*' --exclude=./postmaster.pid -cf - . 2>/dev/null | tar -C "$1" -xpf -`;

/** What pg_basebackup does, which npm's PostgreSQL lacks: makes a standby of a running primary. What was there before goes. */
export async function copyCluster(primary: PostgresNode, to: ClusterDirectory): Promise<void> {
  await rm(to.path, { recursive: true, force: true });
  await mkdir(to.path, { mode: 0o700 });
  const client = new Client(primary.urlOf(SUPERUSER, 'postgres'));
  await client.connect();
  try {
    await client.query(`SELECT pg_backup_start('${STANDBY}', true)`);
    await promisify(execFile)('sh', ['-c', COPY, primary.cluster.path, to.path]);
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
    await write(to, 'backup_label', rows[0]!.labelfile);
  } finally {
    await client.end();
  }
  const { hostname, port, username, password } = new URL(primary.adminUrl);
  const source = `host=${hostname} port=${port} user=${username} password=${password} application_name=${STANDBY}`;
  await write(to, 'standby.signal', '');
  await write(
    to,
    'postgresql.auto.conf',
    `primary_conninfo = '${source}'\nwal_retrieve_retry_interval = 200ms\n`,
  );
}

async function write({ path, account }: ClusterDirectory, name: string, text: string): Promise<void> {
  await writeFile(join(path, name), text);
  if (account) await chown(join(path, name), account.uid, account.gid);
}
