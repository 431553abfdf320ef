import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { PROGRAMS } from '../support/installed.js';
import { until } from '../support/waiting.js';

/** A proxy that runs in the foreground, with what it has written. */
export class ProxyProcess {
  private text = '';
  private readonly closed: Promise<unknown>;

  private constructor(private readonly child: ChildProcess) {
    this.closed = once(child, 'close');
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (chunk: Buffer) => (this.text += chunk.toString()));
  }

  /**
   * @param port on which it listens once it has started
   * @param cwd for files that it makes
   */
  static async start(
    program: string,
    args: readonly string[],
    port: number,
    cwd?: string,
  ): Promise<ProxyProcess> {
    const child = spawn(program, args, { cwd, env: { PATH: PROGRAMS }, stdio: ['ignore', 'pipe', 'pipe'] });
    const proxy = new ProxyProcess(child);
    await until(() => {
      if (child.exitCode !== null) throw new Error(`${program} ended:\n${proxy.text}`);
      return accepts(port);
    });
    return proxy;
  }

  /** Standard output and error so far. */
  output(): string {
    return this.text;
  }

  /** Stops it at once, which cuts its connections. */
  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    await this.closed;
  }
}

/** What a program says of its configuration file. @returns empty when it has nothing to say */
export function complaints(program: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { env: { PATH: PROGRAMS }, encoding: 'utf8' });
  return status === 0 ? '' : `${stdout}${stderr}`;
}

/** Requests lost with a connection that the kernel had accepted and a stopping instance had not: nginx only (docs/production.md). */
export function resetsIn(log: string): number {
  return log.split('reset by peer) while reading response header').length - 1;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('close', () => undefined);
    socket.once('connect', () => socket.destroy());
  });
}

const read = (name: string): string => readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8');

/**
 * A file of deploy/ as a test needs it: other addresses and paths, and what it includes from there in its place.
 * @param changes from what stands there to what shall
 * @throws Error if the file lacks a text to change
 */
export function deployed(name: string, changes: Readonly<Record<string, string>>): string {
  let text = read(name).replaceAll(/^ *include (nginx-\w+\.conf);$/gm, (_, included: string) =>
    read(included),
  );
  for (const [from, to] of Object.entries(changes)) {
    if (!text.includes(from)) throw new Error(`deploy/${name} does not say "${from}"`);
    text = text.replaceAll(from, to);
  }
  return text;
}
