import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { VerifierOptions } from '../../src/index.js';

const SCRIPT = fileURLToPath(new URL('./api.ts', import.meta.url));

/** An API in a process of its own, so that it can be stopped as a whole. */
export class ApiProcess {
  private constructor(
    private readonly child: ChildProcess,
    private readonly port: number,
  ) {}

  static async start(options: VerifierOptions): Promise<ApiProcess> {
    const child = fork(SCRIPT, [JSON.stringify(options)], { execArgv: ['--import', 'tsx'] });
    const [port] = (await once(child, 'message')) as [number];
    return new ApiProcess(child, port);
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** The status with which it answers a token. */
  async ask(token: string): Promise<number> {
    const headers = { Authorization: `Bearer ${token}` };
    const { status, body } = await fetch(`http://127.0.0.1:${this.port}/`, { headers });
    await body?.cancel();
    return status;
  }

  async end(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }
}
