import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Coverage, Order, Report, Trial } from './orders.js';

/** Until Jest has started, and has read a spec. */
const START_MS = 120_000;

/** A Jest that holds one spec, and runs its tests as it is told. */
export class SpecProcess {
  private child: ChildProcess | undefined;

  constructor(
    private readonly root: string,
    readonly spec: string,
  ) {}

  /** @returns 'ended' when the process has ended by itself, 'hung' when it had to be ended */
  tell(order: Order & { kind: 'dry' }, forMs: number): Promise<Coverage | 'ended' | 'hung'>;
  tell(order: Order & { kind: 'try' }, forMs: number): Promise<Trial | 'ended' | 'hung'>;
  async tell(order: Order, forMs: number): Promise<Report | 'ended' | 'hung'> {
    this.child ??= await this.start();
    const child = this.child;
    child.send(order);
    const answer = await within(child, forMs);
    if (typeof answer === 'string') await this.end();
    return answer;
  }

  async end(): Promise<void> {
    const child = this.child;
    this.child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }

  private async start(): Promise<ChildProcess> {
    const jest = [
      '-i',
      '--silent',
      '--config',
      'test/mutations/jest.config.js',
      '--runTestsByPath',
      this.spec,
    ];
    const child = fork('node_modules/jest/bin/jest.js', jest, {
      cwd: this.root,
      execArgv: ['--experimental-vm-modules', '--no-warnings'],
      stdio: ['ignore', 'ignore', process.env['MUTATIONS_DEBUG'] ? 'inherit' : 'ignore', 'ipc'],
    });
    const answer = await within(child, START_MS);
    if (answer === 'ended' || answer === 'hung') {
      child.kill('SIGKILL');
      throw new Error(`Jest did not start on ${this.spec}: ${answer}`);
    }
    return child;
  }
}

async function within(child: ChildProcess, forMs: number): Promise<Report | 'ended' | 'hung'> {
  const abort = new AbortController();
  const { signal } = abort;
  const timer = setTimeout(() => abort.abort('hung'), forMs);
  const message = once(child, 'message', { signal }).then(([report]) => report as Report);
  const exit = once(child, 'exit', { signal }).then(() => 'ended' as const);
  try {
    return await Promise.race([message, exit]);
  } catch {
    return 'hung';
  } finally {
    clearTimeout(timer);
    abort.abort();
    await Promise.allSettled([message, exit]);
  }
}
