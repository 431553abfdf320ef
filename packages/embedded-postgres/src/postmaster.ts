import { spawnSync } from 'node:child_process';
import { lstatSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from './error-facts.js';
import { LOOPBACK, type Address } from './address.js';
import { changeOwnFile, readOwnFile } from './own-file.js';

/** What PostgreSQL says about its running server in `postmaster.pid`. */
export interface Postmaster {
  readonly pid: number;
  /** Undefined before it listens, and in single-user mode, which never listens. */
  readonly address: Address | undefined;
}

/**
 * The server that has, or had, the cluster at `path`; undefined after a clean stop.
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

/** Of a process; it is written as a negative one in single-user mode. */
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

/** False where process `pid` is certainly not the server of the cluster at `path`: root may signal every process. */
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
 * Frees the cluster at `path` from a `postmaster.pid` whose number, `pid`, now belongs to another process (after a
 * reboot, or in a new container), which would keep PostgreSQL from starting. PostgreSQL ignores the number of its own
 * parent, so that is written in place of the old one; its check for backends that still use the shared memory stays in
 * force.
 *
 * @returns false, and leaves everything as it is, where the file is gone or is another server's: a server that ends
 *   removes its file first, and is no server any more for a moment before its number is free
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
