import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { SystemAccount } from './system-account.js';
import { listenOnly, LOOPBACK, type Address } from './address.js';
import type { Binaries } from './binaries.js';
import { signalPostmaster } from './postmaster.js';

const STOP_TIMEOUT_MS = 5000;
/** Then the server is killed: one that reads a named pipe or `/dev/zero` handles no other signal. */
const KILL_AFTER_MS = 8000;
/** During recovery, a server logs its progress every 10 s (`log_startup_progress_interval`). */
const SILENCE_MS = 20_000;

/** Keeps statements and values out of the log. */
export const QUIET = ['log_min_messages=log', 'log_min_error_statement=panic', 'log_error_verbosity=terse'];

export interface ServerOptions {
  readonly binaries: Binaries;
  readonly account: SystemAccount | undefined;
  /** The cluster's directory. */
  readonly path: string;
  readonly port: number;
  /** As in `Address`. Default: 127.0.0.1. */
  readonly host?: string;
  /** Directories of further sockets. */
  readonly sockets?: readonly string[];
  /** Further settings, `name=value`. */
  readonly settings?: readonly string[];
  /** Kills the process during the start. */
  readonly signal?: AbortSignal;
  /** Time-out without a line of the log during the start. */
  readonly silenceMs?: number;
}

export interface Server {
  readonly pid: number;
  readonly address: Address;
  /** Whether the process has not ended. */
  running(): boolean;
  /** Disconnects all clients and stops cleanly; resolves when the process has ended. */
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL; resolves when it accepts connections, after any recovery.
 * @throws with the reason if it ends before, or is killed because it hangs
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const {
    binaries,
    account,
    path,
    host = LOOPBACK,
    port,
    sockets,
    settings = [],
    signal,
    silenceMs = SILENCE_MS,
  } = options;
  const address = { host, port };
  const [command, ...before] = diesWithParent(binaries.postgres, account);
  const child = spawn(
    command,
    [
      ...before,
      '-D',
      path,
      ...[...listenOnly(address, sockets), ...QUIET, ...settings].flatMap((s) => ['-c', s]),
    ],
    {
      ...account,
      cwd: '/',
      env: {}, // without the service's secrets
      detached: true, // else Ctrl-C would stop the database before the service
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, by) => resolve(by ?? `exit code ${code}`));
  });

  const closed = new Promise((resolve) => void child.once('close', resolve));
  const lastLines: string[] = [];
  const lines = createInterface({ input: child.stderr });
  const kill = (): void => void child.kill('SIGKILL');
  signal?.addEventListener('abort', kill);
  if (signal?.aborted) kill();
  let isSilent = false;
  const silence = setTimeout(() => {
    isSilent = true;
    kill();
  }, silenceMs);
  const ready = new Promise<true>((resolve) => {
    lines.on('line', (line) => {
      silence.refresh();
      lastLines.push(line);
      if (lastLines.length > 10) lastLines.shift();
      if (/ready to accept (read-only )?connections/.test(line)) resolve(true);
    });
  });
  const outcome = await Promise.race([ready, ended]);
  clearTimeout(silence);
  signal?.removeEventListener('abort', kill);
  if (outcome !== true) {
    await closed; // after its last lines
    if (isSilent)
      throw new Error(
        `PostgreSQL hung for ${silenceMs / 1000} s and was killed: see whether a file in ${path} (postgresql.conf, pg_hba.conf, …) is a link to a device, or a named pipe`,
      );
    throw new Error(lastLines.find((line) => line.includes('FATAL')) ?? outcome);
  }

  const pid = child.pid!; // defined, since it is running
  return {
    pid,
    address,
    running: () => child.exitCode === null && child.signalCode === null,
    async stop() {
      signalPostmaster(pid, 'INT', binaries.pgCtl);
      const timers = [
        setTimeout(() => signalPostmaster(pid, 'QUIT', binaries.pgCtl), STOP_TIMEOUT_MS),
        setTimeout(kill, KILL_AFTER_MS),
      ];
      await ended;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** Returns a command that stops the server if this process is killed. Without it, the next start stops the server. */
function diesWithParent(postgres: string, account: SystemAccount | undefined): [string, ...string[]] {
  const command: [string, ...string[]] = ['setpriv', '--pdeathsig=INT', postgres];
  if (process.platform !== 'linux') return [postgres];
  const [program, ...args] = command;
  const { status } = spawnSync(program, [...args, '--version'], {
    ...account,
    cwd: '/',
    env: {},
    stdio: 'ignore',
  });
  return status === 0 ? command : [postgres];
}
