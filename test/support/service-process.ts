import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.js';

const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));

export interface ServiceProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** Standard output and error so far. */
  output(): string;
  /** Sends a signal and waits for the end; returns the exit code, null when the signal itself ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/**
 * Starts the compiled service as a process of its own, as `npm run start:prod` does, and waits until it is ready.
 * @param env the whole of its environment, beside PATH.
 * @param main the compiled service's; that of this repository unless it is given
 */
export async function startServiceProcess(
  env: Record<string, string>,
  main: string = MAIN,
): Promise<ServiceProcess> {
  const port = env['PORT'] ?? String(await freePort());
  const child = spawn(process.execPath, [main], {
    env: { PATH: process.env['PATH'], PORT: port, SECRET_KEY: '5e'.repeat(32), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  let output = '';
  const ready = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes('Latchkey is ready')) resolve();
      });
    }
  });
  const ended = exited.then(([code]) => {
    throw new Error(`the service ended with code ${code}:\n${output}`);
  });
  await Promise.race([ready, ended]);
  ended.catch(() => undefined);
  return {
    url: `http://localhost:${port}`,
    child,
    output: () => output,
    async end(signal) {
      child.kill(signal);
      const [code] = await exited;
      return code;
    },
  };
}
