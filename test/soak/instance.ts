import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/free-port.js';

const DIST = fileURLToPath(new URL('../../dist/src/', import.meta.url));
const ERROR = 50; // pino's

/** The compiled service as a process, as `npm run start:prod` runs it, with nothing of a test in it; its log goes to a file. */
export class Instance {
  private constructor(
    readonly name: string,
    readonly url: string,
    readonly child: ChildProcess,
    private readonly logFile: string,
    private readonly errorFile: string,
  ) {}

  /**
   * Starts it, and waits until it is ready.
   * @param name a letter, by which its figures are called
   * @param directory of its log
   */
  static async start(
    name: string,
    directory: string,
    env: Readonly<Record<string, string>>,
  ): Promise<Instance> {
    const port = await freePort();
    const logFile = join(directory, `${name}.log`);
    const errorFile = join(directory, `${name}.stderr`);
    const files = [logFile, errorFile].map((file) => openSync(file, 'a')); // with pipes it would wait for this process to read
    const child = spawn(process.execPath, [join(DIST, 'main.js')], {
      env: { PATH: process.env['PATH'], PORT: String(port), ...env },
      stdio: ['ignore', ...files],
    });
    for (const file of files) closeSync(file);
    const instance = new Instance(name, `http://127.0.0.1:${port}`, child, logFile, errorFile);
    while (!(await instance.isReady())) {
      if (child.exitCode !== null)
        throw new Error(`the service did not start:\n${instance.log}${instance.warnings}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return instance;
  }

  get log(): string {
    return readFileSync(this.logFile, 'utf8');
  }

  /** What Node.js says, such as that of an emitter's listeners there are too many: nothing, if all is well. */
  private get warnings(): string {
    return readFileSync(this.errorFile, 'utf8');
  }

  /** Lines of its log that say that something went wrong, each message once, with how often it came; and what Node.js says. */
  get errors(): string[] {
    const messages = new Map<string, number>();
    for (const text of this.warnings.split('\n')) if (text) messages.set(text, (messages.get(text) ?? 0) + 1);
    for (const line of this.log.split('\n').filter((text) => text.startsWith('{'))) {
      const { level, msg = '' } = JSON.parse(line) as { level: number; msg?: string };
      if (level >= ERROR) messages.set(msg, (messages.get(msg) ?? 0) + 1);
    }
    return [...messages].map(([message, count]) => `${count} × ${message}`);
  }

  /** Ends it as an operator does. @returns its exit code */
  async stop(): Promise<number | null> {
    const { child } = this;
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    }
    return child.exitCode;
  }

  private async isReady(): Promise<boolean> {
    return fetch(`${this.url}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  }
}

/** Runs `npm run keys -- rotate` of the compiled service. */
export async function rotateKeys(env: Readonly<Record<string, string>>): Promise<void> {
  const command = spawn(process.execPath, [join(DIST, 'latchkey.js'), 'keys', 'rotate'], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(command, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`keys rotate ended with ${code}`);
}
