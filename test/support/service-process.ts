import { spawn, type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { tmpdir } from 'node:os';
import { freePort } from './free-port.js';
import type { Answered } from './openapi/watch-answers.mjs';

/** For `SERVICE_KEYS`. */
export const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';

/** Without them the service generates keys into its DATA_DIR. The SECRET_KEY is that of the test services. */
export const KEYS = { SECRET_KEY: '5e'.repeat(32), SERVICE_KEYS: 'k'.repeat(32) };

/** So that its answers, too, are compared with docs/openapi.json. */
const REPORT_ANSWERS = `--import=${new URL('openapi/report-answers.mjs', import.meta.url).href}`;

const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));

export interface ServiceProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** Standard output and error so far. */
  output(): string;
  /** Sends a signal and waits for the end; returns the exit code, null if the signal ended it. Fails if a secret was logged. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** A service that may not be ready yet, or never will be. */
export interface ServiceChild extends ServiceProcess {
  /** Its exit code, once it has ended; null when a signal ended it. */
  readonly ended: Promise<number | null>;
  /** Resolves when its output contains the text; fails when it ends before that. */
  says(text: string): Promise<void>;
}

/**
 * Starts the compiled service as `npm run start:prod` does, without waiting until it is ready.
 * @param env the whole of its environment, beside PATH.
 * @param main the compiled service's; that of this repository unless it is given
 * @param openFiles how many files it may open; as many as this process, unless it is given
 */
export async function spawnService(
  env: Record<string, string>,
  main: string = MAIN,
  openFiles?: number,
): Promise<ServiceChild> {
  const port = env['PORT'] ?? String(await freePort());
  const program = [process.execPath, ...(main === MAIN ? [REPORT_ANSWERS] : []), main, 'serve'] as const;
  const [command, ...args]: readonly [string, ...string[]] =
    openFiles === undefined ? program : ['sh', '-c', `ulimit -n ${openFiles}; exec "$0" "$@"`, ...program];
  const variables = { PORT: port, ...KEYS, LOG_FORMAT: 'json', ...env };
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'], ...variables },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  child.on('message', (answer: Answered) => globalThis.answered(answer));
  const ended = (once(child, 'close') as Promise<[number | null]>).then(([code]) => code);
  let output = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      child.emit('said');
    });
  }
  return {
    url: `http://localhost:${port}`,
    child,
    output: () => output,
    ended,
    async says(text) {
      while (!output.includes(text)) {
        const code = await Promise.race([once(child, 'said').then(() => 'said'), ended]);
        if (code !== 'said') throw new Error(`the service ended with code ${code}:\n${output}`);
      }
    },
    async end(signal) {
      child.kill(signal);
      const code = await ended;
      expectNoSecret(output, variables);
      return code;
    },
  };
}

/** Starts the compiled service, and waits until it is ready. */
export async function startServiceProcess(
  env: Record<string, string>,
  main: string = MAIN,
  openFiles?: number,
): Promise<ServiceProcess> {
  const service = await spawnService(env, main, openFiles);
  await service.says('Latchkey is ready');
  return service;
}

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Leaves out the lines of a command that takes more than ten seconds, as on a busy machine. */
export function withoutProgress(stderr: string): string {
  return stderr.replaceAll(/^\{"table":.*\}\n/gm, '');
}

/**
 * Runs a command of the compiled service.
 * @param env the whole of its environment, beside PATH
 */
export function latchkeyCommand(
  env: Record<string, string>,
  cwd: string,
  ...args: string[]
): Promise<CommandResult> {
  const options = { cwd, env: { PATH: process.env['PATH'], ...env } };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [MAIN, ...args], options, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, stdout, stderr: withoutProgress(stderr) });
    });
  });
}

/**
 * Runs the compiled command `keys` as `npm run keys` does.
 * @param env the whole of its environment, beside PATH and `KEYS`
 */
export function keysCommand(env: Record<string, string>, ...args: string[]): Promise<CommandResult> {
  return latchkeyCommand({ ...KEYS, ...env }, tmpdir(), 'keys', ...args);
}

/** Access token (a JWT), refresh token, private key. */
const SHAPES = [/eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{80,}/, /lk[ar]_[\w-]{80,}/, /PRIVATE KEY/];
/** Variables with secret values, in every spelling. */
const SECRET_VARIABLES =
  /(?:client[._]secret|secret_key|service_keys|webhook_urls|webhook_secret|admission_url|admission_secret)$/i;

/**
 * Validates the log of a service at its end: no test may make it log a secret (P5).
 * @param env the variables with which the service was started
 * @throws Error that does not show the secret
 */
export function expectNoSecret(log: string, env: Readonly<Record<string, string>>): void {
  const shown = SHAPES.filter((shape) => shape.test(log)).map(String);
  for (const [name, value] of Object.entries(env)) {
    if (SECRET_VARIABLES.test(name) && secretsIn(value).some((secret) => log.includes(secret)))
      shown.push(name);
  }
  if (shown.length > 0) throw new Error(`the log of a service has a secret: ${shown.join(', ')}`);
}

/** Service keys of a list without their prefix; short ones would match other text. */
function secretsIn(value: string): string[] {
  const all = value.split(',').map((one) => one.replace(/^[a-z]+:/, ''));
  return all.filter(({ length }) => length >= 16);
}
