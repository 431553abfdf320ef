import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { postgresAccount, type SystemAccount } from '../../src/system-account.js';
import { postgresBinaries, type Binaries } from '../../src/binaries.js';
import { freePort } from '../../../../test/support/free-port.js';
import { query } from '../../../../test/support/query.js';

const PASSWORD = 'the-one-password-of-0.1.0-for-everybody';

/**
 * The embedded database as version 0.1.0 made and ran it, step by step: one password for the superuser and the service,
 * on loopback.
 */
export class Cluster010 {
  readonly path: string;
  private readonly account: SystemAccount | undefined;
  private readonly binaries: Binaries;

  /** @param dataDir which exists, and which PostgreSQL's account may enter */
  constructor(readonly dataDir: string) {
    this.path = join(dataDir, 'postgres');
    this.account = postgresAccount(this.path);
    this.binaries = postgresBinaries(this.account, () => dataDir);
  }

  /** What is left of a first start that was killed before it had a role and a database. */
  static makeHalf(dataDir: string): Cluster010 {
    mkdirSync(dataDir);
    chmodSync(dataDir, 0o711);
    const cluster = new Cluster010(dataDir);
    cluster.initdb();
    return cluster;
  }

  /** The whole cluster; no server is left running. */
  static async make(dataDir: string): Promise<Cluster010> {
    const cluster = Cluster010.makeHalf(dataDir);
    const server = await cluster.start();
    await query(server.superuserUrl('postgres'), `CREATE ROLE latchkey LOGIN PASSWORD '${PASSWORD}'`);
    await query(server.superuserUrl('postgres'), 'CREATE DATABASE latchkey OWNER latchkey');
    await server.stop();
    return cluster;
  }

  copyTo(dataDir: string): Cluster010 {
    execFileSync('cp', ['-a', this.dataDir, dataDir]); // with owners and modes
    return new Cluster010(dataDir);
  }

  private initdb(): void {
    mkdirSync(this.path, { mode: 0o700 });
    const passwordFile = join(this.dataDir, 'password');
    writeFileSync(passwordFile, PASSWORD, { mode: 0o600 });
    const { account } = this;
    if (account) for (const file of [this.path, passwordFile]) chownSync(file, account.uid, account.gid);
    const options = ['--encoding=UTF8', '--no-locale', '--set=timezone=UTC', '--set=log_timezone=UTC'];
    const initdb = spawnSync(
      this.binaries.initdb,
      [
        '-D',
        this.path,
        '-U',
        'postgres',
        `--pwfile=${passwordFile}`,
        ...options,
        '--auth=scram-sha-256',
        '--no-sync',
      ],
      { ...account, cwd: '/', env: {}, encoding: 'utf8' },
    );
    if (initdb.status !== 0) throw new Error(initdb.stderr);
    renameSync(passwordFile, join(this.path, 'latchkey-password'));
  }

  async start(): Promise<Server010> {
    const port = await freePort();
    const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories='];
    const child = spawn(this.binaries.postgres, ['-D', this.path, ...settings.flatMap((s) => ['-c', s])], {
      ...this.account,
      cwd: '/',
      env: {},
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ready = new Promise<void>((resolve, reject) => {
      child.once('exit', () => reject(new Error('it did not start')));
      createInterface({ input: child.stderr }).on('line', (line) => {
        if (line.includes('ready to accept connections')) resolve();
      });
    });
    await ready;
    return new Server010(child, port);
  }
}

export class Server010 {
  constructor(
    readonly child: ChildProcess,
    private readonly port: number,
  ) {}

  /** What 0.1.0 gave to the service. */
  get url(): string {
    return `postgres://latchkey:${PASSWORD}@127.0.0.1:${this.port}/latchkey`;
  }

  superuserUrl(database: string): string {
    return `postgres://postgres:${PASSWORD}@127.0.0.1:${this.port}/${database}`;
  }

  async stop(signal: 'SIGINT' | 'SIGKILL' = 'SIGINT'): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    this.child.kill(signal);
    await exit;
  }
}
