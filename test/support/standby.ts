import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, readdirSync, readFileSync } from 'node:fs';
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
import { until } from './waiting.js';
import { startServer, type Server } from '../../packages/embedded-postgres/src/server.js';
import { errorCode } from '../../src/platform/errors/error-facts.js';

/** The role and the database of the service. */
const SERVICE = 'latchkey';
const SETTINGS = [
  // Fast: the tests kill processes, not the operating system. Commits still wait for the standby.
  'fsync=off',
  'full_page_writes=off',
  'max_connections=200',
  'shared_buffers=16MB',
  'max_wal_size=256MB',
  'wal_keep_size=128MB', // for a standby that is being copied
];

/** One PostgreSQL of a pair, on 127.0.0.1. */
export class PostgresNode {
  private server: Server | undefined;

  constructor(
    readonly cluster: ClusterDirectory,
    private readonly password: string,
    readonly port: number,
    private readonly settings: readonly string[],
  ) {}

  /** The superuser's, in the database of the service. */
  get adminUrl(): string {
    return this.urlOf(SUPERUSER);
  }

  /** The service's: an ordinary role that owns its database. */
  get url(): string {
    return this.urlOf(SERVICE);
  }

  /** A URL without a database, for its maintenance. */
  urlOf(user: string, database = SERVICE): string {
    return `postgres://${user}:${this.password}@127.0.0.1:${this.port}/${database}`;
  }

  /** Starts it, also again after an end: data and address stay. */
  async start(): Promise<this> {
    const { path, account } = this.cluster;
    const binaries = postgresBinaries(account, () => sharedPlace('programs'));
    const settings = [...SETTINGS, ...this.settings];
    this.server = await startServer({ binaries, account, path, port: this.port, settings });
    return this;
  }

  /** Every process of it stands still: connections stay open, and nothing is answered. */
  freeze(): void {
    this.signal('SIGSTOP');
  }

  thaw(): void {
    this.signal('SIGCONT');
  }

  /** Every process of it is killed at once, as when its machine is lost. */
  async kill(): Promise<void> {
    const pids = this.signal('SIGSTOP'); // first: one that outlived the others for a moment would act on their end
    for (const pid of pids) send(pid, 'SIGKILL');
    await until(() => !this.server!.running() && !pids.some(isAlive));
    rmSync(join(this.cluster.path, 'postmaster.pid'), { force: true }); // another process may get its number
  }

  /** Makes a primary of a standby; resolves when it takes writes. */
  async promote(): Promise<void> {
    await this.query('SELECT pg_promote(true)');
  }

  /** Runs one statement as superuser, on a new connection. */
  async query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = new Client(this.urlOf(SUPERUSER, 'postgres'));
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Stops it at once: a primary that shuts down in order waits for its standby. */
  async stop(): Promise<void> {
    if (!this.server?.running()) return;
    this.thaw();
    process.kill(this.server.pid, 'SIGQUIT');
    await until(() => !this.server!.running());
  }

  /** Writes a setting that outlives a start, and applies it. */
  async set(name: string, value: string): Promise<void> {
    await this.query(`ALTER SYSTEM SET ${name} = '${value}'`);
    await this.query('SELECT pg_reload_conf()');
  }

  /** The postmaster first: from then on it has no new children. @returns to whom it was sent */
  private signal(signal: NodeJS.Signals): number[] {
    if (!this.server?.running()) return [];
    return signalServer(this.server.pid, signal);
  }
}

/** Signals a postmaster, and then its children. @returns to whom it was sent */
export function signalServer(pid: number, signal: NodeJS.Signals): number[] {
  send(pid, signal);
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === pid);
  const pids = [pid, ...children.map(Number)];
  for (const child of pids.slice(1)) send(child, signal);
  return pids;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error; // it has just ended
  }
}

function parentOf(pid: string): number {
  return Number(statOf(pid)?.[2]);
}

/** A zombie is not alive: it only waits for its parent to ask how it ended. */
function isAlive(pid: number): boolean {
  const state = statOf(String(pid))?.[1];
  return state !== undefined && state !== 'Z';
}

/** State and parent. */
function statOf(pid: string): RegExpExecArray | null {
  try {
    return /^\d+ \(.*\) (\S) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return null; // it has just ended
  }
}

/** By this name a standby is known to its primary. */
const STANDBY = 'standby';

// Without the log: a standby reads it from its primary. What goes away while it is read was of no use any more.
const COPY = `tar -C "$0" --exclude='./pg_wal/*' --exclude=./postmaster.pid -cf - . 2>/dev/null | tar -C "$1" -xpf -`;

/** Copies a running primary to a standby, as pg_basebackup does, which npm's PostgreSQL lacks. */
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
      await primary.set('synchronous_standby_names', STANDBY);
      await pair.whole();
      return pair;
    } catch (error) {
      await pair.stop();
      throw error;
    }
  }

  /** Resolves when the standby follows the primary, and every commit waits for it. */
  async whole(): Promise<void> {
    await until(async () => (await this.syncState()) === 'sync');
  }

  /** Resolves when the primary acknowledges a commit: until then every commit waits for the standby. */
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
