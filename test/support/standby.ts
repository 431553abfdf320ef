import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync, chownSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { postgresBinaries } from '../../packages/embedded-postgres/src/binaries.js';
import { ensureCluster, SUPERUSER } from '../../packages/embedded-postgres/src/cluster.js';
import {
  clusterDirectory,
  type ClusterDirectory,
} from '../../packages/embedded-postgres/src/cluster-directory.js';
import { startServer, type Server } from '../../packages/embedded-postgres/src/server.js';
import { sharedPlace } from '../../packages/embedded-postgres/src/shared-place.js';
import { errorCode } from '../../src/database/error-facts.js';
import { freePort } from './free-port.js';
import { until } from './until.js';

const STANDBY = 'standby';
const SERVICE = 'latchkey';
// Fast: what these tests kill are processes, never the operating system. Commits wait for the standby all the same.
const SETTINGS = ['fsync=off', 'full_page_writes=off', 'max_connections=200', 'shared_buffers=16MB'];

/** One PostgreSQL of a pair, on 127.0.0.1. */
export class PostgresNode {
  private server: Server | undefined;

  constructor(
    private readonly cluster: ClusterDirectory,
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

  /** Starts it, or starts it again with the same data at the same address. */
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
    this.signal('SIGKILL');
    await until(() => !this.server!.running());
    rmSync(join(this.cluster.path, 'postmaster.pid'), { force: true }); // another process may get its number
  }

  /** Makes a primary of a standby; resolves when it takes writes. */
  async promote(): Promise<void> {
    await this.query('SELECT pg_promote(true)');
  }

  /** Runs one statement as superuser, on a connection of its own. */
  async query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = new Client(this.urlOf(SUPERUSER, 'postgres'));
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** At once, since its data are not kept: a primary that is told to end in order first waits for a standby. */
  async stop(): Promise<void> {
    if (!this.server?.running()) return;
    this.thaw();
    process.kill(this.server.pid, 'SIGQUIT');
    await until(() => !this.server!.running());
  }

  private signal(signal: NodeJS.Signals): void {
    for (const pid of this.pids()) {
      try {
        process.kill(pid, signal);
      } catch (error) {
        if (errorCode(error) !== 'ESRCH') throw error; // a child that has just ended
      }
    }
  }

  /** The postmaster, and after it its children. */
  private pids(): number[] {
    if (!this.server?.running()) return [];
    const { pid } = this.server;
    const parentOf = (child: string): number => {
      try {
        return Number(/^\d+ \(.*\) \S (\d+)/.exec(readFileSync(`/proc/${child}/stat`, 'utf8'))?.[1]);
      } catch {
        return NaN; // it has just ended
      }
    };
    const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === pid);
    return [pid, ...children.map(Number)];
  }
}

/**
 * A primary, and a standby that every commit waits for (`synchronous_standby_names`): both of the PostgreSQL that npm brings.
 * Only on Linux: freezing and killing read /proc.
 */
export class ReplicatedPostgres {
  private constructor(
    readonly primary: PostgresNode,
    readonly standby: PostgresNode,
    private readonly directories: readonly string[],
  ) {}

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
      await copyCluster(primary, of, copy);
      await standby.start();
      await until(async () => (await primary.query('SELECT FROM pg_stat_replication')).length === 1);
      await pair.synchronous(true);
      return pair;
    } catch (error) {
      await pair.stop();
      throw error;
    }
  }

  /** Whether commits on the primary wait for the standby. */
  async synchronous(on: boolean): Promise<void> {
    await this.primary.query(`ALTER SYSTEM SET synchronous_standby_names = '${on ? STANDBY : ''}'`);
    await this.primary.query('SELECT pg_reload_conf()');
    const wanted = on ? 'sync' : 'async';
    await until(async () => {
      const [row] = await this.primary.query('SELECT sync_state FROM pg_stat_replication');
      return row === undefined || row['sync_state'] === wanted;
    });
  }

  async stop(): Promise<void> {
    await this.standby.stop();
    await this.primary.stop();
    for (const directory of this.directories) rmSync(directory, { recursive: true, force: true });
  }
}

/** What pg_basebackup does, which npm's PostgreSQL lacks. */
async function copyCluster(
  primary: PostgresNode,
  from: ClusterDirectory,
  to: ClusterDirectory,
): Promise<void> {
  const client = new Client(primary.urlOf(SUPERUSER, 'postgres'));
  await client.connect();
  try {
    await client.query(`SELECT pg_backup_start('standby', true)`);
    cpSync(from.path, to.path, { recursive: true, filter: (path) => !path.endsWith('postmaster.pid') });
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
    writeFileSync(join(to.path, 'backup_label'), rows[0]!.labelfile);
  } finally {
    await client.end();
  }
  const source = new URL(primary.adminUrl);
  const target = `host=${source.hostname} port=${source.port} user=${source.username} password=${source.password}`;
  writeFileSync(join(to.path, 'standby.signal'), '');
  writeFileSync(
    join(to.path, 'postgresql.auto.conf'),
    `primary_conninfo = '${target} application_name=${STANDBY}'\nwal_retrieve_retry_interval = 200ms\n`,
  );
  if (to.account) {
    const { uid, gid } = to.account;
    chownSync(to.path, uid, gid);
    for (const name of readdirSync(to.path, { recursive: true, encoding: 'utf8' })) {
      chownSync(join(to.path, name), uid, gid);
    }
  }
}
