import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { SystemAccount } from './system-account.js';
import { listenOnly, LOOPBACK, type Address } from './address.js';
import type { Binaries } from './binaries.js';
import { signalPostmaster } from './postmaster.js';

const STOP_PATIENCE_MS = 5000;
/** After which a server that does not end is killed: one that reads a named pipe or `/dev/zero` handles no other signal. */
const KILL_AFTER_MS = 8000;
/** A server that recovers reports its progress every 10 s (`log_startup_progress_interval`). */
const SILENCE_MS = 20_000;

/** Neither statements nor their values may reach a log: the client reports its errors. */
export const QUIET = ['log_min_messages=log', 'log_min_error_statement=panic', 'log_error_verbosity=terse'];

export interface ServerOptions {
  readonly binaries: Binaries;
  readonly account: SystemAccount | undefined;
  /** The cluster's directory. */
  readonly path: string;
  readonly port: number;
  /** As in `Address`. Default: 127.0.0.1. */
  readonly host?: string;
  /** Further settings, `name=value`. */
  readonly settings?: readonly string[];
  /** Ends the start: the process is killed. */
  readonly signal?: AbortSignal;
  /** The longest time without a line of the log before the server is ready. */
  readonly silenceMs?: number;
}

export interface Server {
  readonly pid: number;
  readonly address: Address;
  /** Whether the process has not ended. */
  running(): boolean;
  /** Disconnects all clients and stops, leaving nothing to recover; resolves when the process has ended. */
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL and resolves once it accepts connections, however long recovery takes.
 * @throws with the reason if it ends before, or is killed since it hangs
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const {
    binaries,
    account,
    path,
    host = LOOPBACK,
    port,
    settings = [],
    signal,
    silenceMs = SILENCE_MS,
  } = options;
  const address = { host, port };
  const [command, ...before] = diesWithParent(binaries.postgres, account);
  const child = spawn(
    command,
    [...before, '-D', path, ...[...listenOnly(address), ...QUIET, ...settings].flatMap((s) => ['-c', s])],
    {
      ...account,
      cwd: '/',
      env: {}, // PostgreSQL must not inherit the service's secrets
      detached: true, // Ctrl-C goes to the whole process group and would stop the database before the service
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
    await closed; // its last lines may still be on their way
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
        setTimeout(() => signalPostmaster(pid, 'QUIT', binaries.pgCtl), STOP_PATIENCE_MS),
        setTimeout(kill, KILL_AFTER_MS),
      ];
      await ended;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** A command that stops the server when this process is killed. Where there is none, the next start stops the server. */
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
