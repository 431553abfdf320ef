import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { postgresBinaries } from '../../packages/embedded-postgres/src/binaries.js';
import { SUPERUSER } from '../../packages/embedded-postgres/src/cluster.js';
import type { ClusterDirectory } from '../../packages/embedded-postgres/src/cluster-directory.js';
import { startServer, type Server } from '../../packages/embedded-postgres/src/server.js';
import { sharedPlace } from '../../packages/embedded-postgres/src/system-account.js';
import { errorCode } from '../../src/database/statements/error-facts.js';
import { until } from './waiting.js';

/** The role and the database of the service. */
export const SERVICE = 'latchkey';
const SETTINGS = [
  // Fast: what these tests kill are processes, never the operating system. Commits wait for the standby all the same.
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
    const pids = this.signal('SIGSTOP'); // first: one that outlived the others for a moment would act on their end
    for (const pid of pids) send(pid, 'SIGKILL');
    await until(() => !this.server!.running() && !pids.some(isAlive));
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

  /** Writes a setting that outlives a start, and applies it. */
  async set(name: string, value: string): Promise<void> {
    await this.query(`ALTER SYSTEM SET ${name} = '${value}'`);
    await this.query('SELECT pg_reload_conf()');
  }

  /** The postmaster first: from then on it has no new children. @returns to whom it was sent */
  private signal(signal: NodeJS.Signals): number[] {
    if (!this.server?.running()) return [];
    const { pid } = this.server;
    send(pid, signal);
    const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === pid);
    const pids = [pid, ...children.map(Number)];
    for (const child of pids.slice(1)) send(child, signal);
    return pids;
  }
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
