import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { isInstalled } from './installed.js';

/** Whether to run tests with a real Redis. */
export const hasRedis = isInstalled('redis-server');

/** A real Redis that can be killed or frozen; it stores nothing on disk. */
export class RedisServer {
  readonly url: string;
  private child?: ChildProcess;

  private constructor(
    readonly port: number,
    private readonly more: readonly string[],
  ) {
    this.url = `redis://127.0.0.1:${port}`;
  }

  /** @param more arguments, e.g. `--requirepass` and a password */
  static async start(...more: readonly string[]): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), more);
    await server.start();
    return server;
  }

  /** Another one that does what `master` does, and can take its place. */
  static async replicaOf(master: RedisServer, ...more: readonly string[]): Promise<RedisServer> {
    return RedisServer.start('--replicaof', `127.0.0.1 ${master.port}`, ...more);
  }

  /** Starts it, also after a kill: empty, with its former port. */
  async start(): Promise<void> {
    const args = ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const replication = ['--repl-diskless-sync-delay', '0', '--repl-diskless-load', 'swapdb']; // at once, and no file
    this.child = await spawnRedis([...args, ...replication, ...this.more], 'Ready to accept connections');
  }

  freeze(): void {
    this.child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.child?.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    await kill(this.child);
  }
}

/** A real Sentinel that watches a master by the name of `latchkey`, and replaces it when it is away for half a second. */
export class SentinelServer {
  static readonly master = 'latchkey';
  readonly url: string;

  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
    private readonly directory: string,
  ) {
    this.url = `redis://127.0.0.1:${port}`;
  }

  /**
   * @param quorum how many Sentinels must agree that the master is away
   * @param settings more lines, in which `<master>` stands for its name
   */
  static async of(
    master: RedisServer,
    quorum = 1,
    settings: readonly string[] = [],
  ): Promise<SentinelServer> {
    const port = await freePort();
    const directory = await mkdtemp(join(tmpdir(), 'sentinel-'));
    const file = join(directory, 'sentinel.conf'); // Sentinel writes into it, so it cannot do without
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `sentinel monitor <master> 127.0.0.1 ${master.port} ${quorum}`,
      'sentinel down-after-milliseconds <master> 500',
      'sentinel failover-timeout <master> 3000',
      ...settings,
    ];
    await writeFile(file, `${lines.join('\n').replaceAll('<master>', SentinelServer.master)}\n`);
    const child = await spawnRedis([file, '--sentinel'], '+monitor master');
    return new SentinelServer(port, child, directory);
  }

  async kill(): Promise<void> {
    await kill(this.child);
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** @param ready what it says when it can be used */
async function spawnRedis(args: readonly string[], ready: string): Promise<ChildProcess> {
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`redis-server ended with code ${code}`)));
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes(ready)) resolve();
    });
  });
  return child;
}

async function kill(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
