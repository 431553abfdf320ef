import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { postgresBinaries } from '../../packages/embedded-postgres/src/binaries.js';
import {
  clusterDirectory,
  type ClusterDirectory,
} from '../../packages/embedded-postgres/src/cluster-directory.js';
import { ensureCluster, SUPERUSER } from '../../packages/embedded-postgres/src/cluster.js';
import { sharedPlace } from '../../packages/embedded-postgres/src/system-account.js';
import { freePort } from './free-port.js';
import { PostgresNode, SERVICE } from './postgres-node.js';
import { until } from './waiting.js';

/** By this name a standby is known to its primary. */
const STANDBY = 'standby';

// Without the log: a standby reads it from its primary. What goes away while it is read was of no use any more.
const COPY = `tar -C "$0" --exclude='./pg_wal/*' --exclude=./postmaster.pid -cf - . 2>/dev/null | tar -C "$1" -xpf -`;

/** What pg_basebackup does, which npm's PostgreSQL lacks: makes a standby of a running primary. What was there before goes. */
async function copyCluster(primary: PostgresNode, to: ClusterDirectory): Promise<void> {
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

/**
 * A primary, and a standby that every commit waits for (`synchronous_standby_names`): both of the PostgreSQL that npm brings.
 * Only on Linux: freezing and killing read /proc.
 */
export class ReplicatedPostgres {
  private constructor(
    private leading: PostgresNode,
    private following: PostgresNode,
    private readonly directories: readonly string[],
  ) {}

  get primary(): PostgresNode {
    return this.leading;
  }

  get standby(): PostgresNode {
    return this.following;
  }

  /** @param settings of both, `name=value` */
  static async start(...settings: string[]): Promise<ReplicatedPostgres> {
    const directories = ['primary', STANDBY].map((name) => mkdtempSync(join(tmpdir(), `latchkey-${name}-`)));
    const [of, copy] = directories.map((directory) => clusterDirectory(directory, () => undefined)) as [
      ClusterDirectory,
      ClusterDirectory,
    ];
    const binaries = postgresBinaries(of.account, () => sharedPlace('programs'));
    const password = ensureCluster(of.path, { binaries, account: of.account, options: ['--no-sync'] });
    const primary = await new PostgresNode(of, password, await freePort(), settings).start();
    const standby = new PostgresNode(copy, password, await freePort(), settings);
    const pair = new ReplicatedPostgres(primary, standby, directories);
    try {
      await primary.query(`CREATE ROLE ${SERVICE} LOGIN PASSWORD '${password}'`);
      await primary.query(`CREATE DATABASE ${SERVICE} OWNER ${SERVICE}`);
      await pair.copyStandby();
      await pair.synchronous(true);
      return pair;
    } catch (error) {
      await pair.stop();
      throw error;
    }
  }

  /** Whether commits on the primary wait for the standby. */
  async synchronous(on: boolean): Promise<void> {
    await this.primary.set('synchronous_standby_names', on ? STANDBY : '');
    const wanted = on ? 'sync' : 'async';
    await until(async () => [undefined, wanted].includes(await this.syncState()));
  }

  /** From now on the standby gets nothing, and no commit waits for it: the next failover loses what is acknowledged until then. */
  async leaveStandbyBehind(): Promise<void> {
    await this.synchronous(false);
    await this.standby.set('primary_conninfo', '');
    await until(async () => (await this.syncState()) === undefined);
  }

  /** Resolves when the standby follows the primary, and every commit waits for it. */
  async whole(): Promise<void> {
    await until(async () => (await this.syncState()) === 'sync');
  }

  /** Resolves when the primary has acknowledged a commit: as long as that waits for a standby, so does everybody's. */
  async commit(): Promise<void> {
    await this.primary.query(`SELECT pg_logical_emit_message(true, '${STANDBY}', '')`);
  }

  /**
   * The primary is lost, and the standby takes its place; what was the primary is copied anew, as its standby. Nothing that was
   * acknowledged is lost: the old primary is dead before, and from its first commit on the new one waits for a standby.
   * @param lead brings the clients to the new primary; until then they must not reach it
   */
  async failOver(lead: (primary: PostgresNode) => unknown): Promise<void> {
    const [lost, next] = [this.leading, this.following];
    await lost.kill();
    await next.set('synchronous_standby_names', STANDBY);
    await next.promote();
    [this.leading, this.following] = [next, lost];
    const first = this.commit();
    first.catch(() => undefined); // it is awaited below, unless something fails before
    await until(
      async () => (await next.query(`SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)).length > 0,
    );
    await lead(next);
    await this.copyStandby();
    await this.whole();
    await first;
  }

  async stop(): Promise<void> {
    await this.standby.stop();
    await this.primary.stop();
    for (const directory of this.directories) rmSync(directory, { recursive: true, force: true });
  }

  private async copyStandby(): Promise<void> {
    await copyCluster(this.primary, this.standby.cluster);
    await this.standby.start();
    await until(async () => (await this.syncState()) !== undefined);
  }

  /** Undefined while there is no standby. */
  private async syncState(): Promise<string | undefined> {
    const [row] = await this.primary.query(
      `SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'`,
    );
    return row?.['sync_state'] as string | undefined;
  }
}
