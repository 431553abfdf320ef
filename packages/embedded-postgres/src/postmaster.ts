import { spawnSync } from 'node:child_process';
import { lstatSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { LOOPBACK, type Address } from './address.js';
import { changeOwnFile, errorCode, readOwnFile } from './own-file.js';

/** The content of PostgreSQL's `postmaster.pid`. */
export interface Postmaster {
  readonly pid: number;
  /** Undefined before it listens, and in single-user mode, which never listens. */
  readonly address: Address | undefined;
}

/**
 * Returns the server that runs, or was killed, at `path`; undefined after a clean stop.
 * @throws a sentence if the file is not PostgreSQL's
 */
export function readPostmaster(path: string): Postmaster | undefined {
  return ifThere(undefined, () => {
    // https://www.postgresql.org/docs/current/storage-file-layout.html
    const [pid = '', , , port = '', socketDirectory, tcpAddress] = readOwnFile(pidFile(path)).split('\n');
    return { pid: numberOf(pid), address: addressOf(port, socketDirectory, tcpAddress) };
  });
}

const pidFile = (path: string): string => join(path, 'postmaster.pid');

function ifThere<Result>(missing: Result, use: () => Result): Result {
  try {
    return use();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return missing;
    throw error;
  }
}

/** Single-user mode writes a negative number. */
function numberOf(pid: string): number {
  return Math.abs(Number.parseInt(pid, 10));
}

function addressOf(text: string, socketDirectory?: string, tcpAddress?: string): Address | undefined {
  const port = Number.parseInt(text, 10);
  if (socketDirectory) return { host: socketDirectory, port };
  return tcpAddress ? { host: LOOPBACK, port } : undefined;
}

/** Whether a process with this number exists; a zombie counts. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** False if process `pid` is certainly not the server at `path`, and so must not get a signal. */
export function mayBePostmaster(pid: number, path: string): boolean {
  if (process.platform !== 'linux') return true;
  try {
    if (statSync(`/proc/${pid}`).uid !== lstatSync(path).uid) return false;
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(path); // empty for a zombie
  } catch {
    return false;
  }
}

/**
 * Replaces the number in a `postmaster.pid` that now belongs to another process (after a reboot, or in a new container), with
 * which PostgreSQL would not start. It ignores the number of its parent, this process; its check of the shared memory stays.
 *
 * @returns false, without a change, if the file is missing or has another number: a server that ends removes its file first
 */
export function disownStalePid(path: string, pid: number): boolean {
  return ifThere(false, () =>
    changeOwnFile(pidFile(path), (text) => {
      const [current = '', ...rest] = text.split('\n');
      return numberOf(current) === pid ? [process.pid, ...rest].join('\n') : undefined;
    }),
  );
}

/** `INT` stops the server at once but cleanly; `QUIT` leaves the rest to crash recovery at the next start. */
export function signalPostmaster(pid: number, signal: 'INT' | 'QUIT', pgCtl: string): void {
  if (process.platform === 'win32') {
    spawnSync(pgCtl, ['kill', signal, String(pid)]); // Windows has no signals: PostgreSQL brings its own
    return;
  }
  try {
    process.kill(pid, `SIG${signal}`);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}
