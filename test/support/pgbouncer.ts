import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';

/** Whether to run tests with a real PgBouncer. CI must have it: its start fails there. */
export const hasPgBouncer = process.env['CI'] !== undefined || !spawnSync('pgbouncer', ['--version']).error;

/** A real PgBouncer before one database, with few connections to it. */
export class PgBouncer {
  private constructor(
    /** The database, by way of the pooler. */
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly directory: string,
  ) {}

  /**
   * @param databaseUrl of the database
   * @param size connections to it
   * @param settings more lines for `[pgbouncer]`
   */
  static async before(
    databaseUrl: string,
    mode: 'session' | 'transaction',
    size: number,
    ...settings: readonly string[]
  ): Promise<PgBouncer> {
    const { hostname, port, username, password, pathname } = new URL(databaseUrl);
    const name = pathname.slice(1);
    const own = await freePort();
    const lines = [
      '[databases]',
      `${name} = host=${hostname} port=${port} user=${username} password=${decodeURIComponent(password)}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${own}`,
      'unix_socket_dir =',
      'auth_type = any',
      `pool_mode = ${mode}`,
      `default_pool_size = ${size}`,
      'max_client_conn = 500',
      ...settings,
    ];
    const directory = await mkdtemp(join(tmpdir(), 'pgbouncer-'));
    await chmod(directory, 0o755); // it does not run as root
    const file = join(directory, 'pgbouncer.ini');
    await writeFile(file, `${lines.join('\n')}\n`);
    const child = await spawnPgBouncer(process.getuid?.() === 0 ? ['-u', 'nobody', file] : [file]);
    return new PgBouncer(`postgres://${username}@127.0.0.1:${own}/${name}`, child, directory);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exited = once(this.child, 'exit');
      this.child.kill('SIGKILL');
      await exited;
    }
    await rm(this.directory, { recursive: true, force: true });
  }
}

async function spawnPgBouncer(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn('pgbouncer', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  await new Promise<void>((resolve, reject) => {
    let output = '';
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`pgbouncer ended with code ${code}: ${output}`)));
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('process up')) resolve();
    });
  });
  return child;
}
