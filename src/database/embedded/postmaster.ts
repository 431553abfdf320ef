import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../error-facts.js';

/** What PostgreSQL says of its running server in `postmaster.pid`. */
export interface Postmaster {
  readonly pid: number;
  /** NaN while it has not got that far. */
  readonly port: number;
}

/** The server that has, or had, the cluster at `path`; undefined after a clean stop. */
export function readPostmaster(path: string): Postmaster | undefined {
  try {
    const lines = readFileSync(join(path, 'postmaster.pid'), 'utf8').split('\n');
    return { pid: Number.parseInt(lines[0] ?? '', 10), port: Number.parseInt(lines[3] ?? '', 10) };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whether a process of this number exists; a zombie does. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** False where process `pid` is surely something else than the server of the cluster at `path`. */
export function mayBePostmaster(pid: number, path: string): boolean {
  if (process.platform !== 'linux') return true;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(path); // empty for a zombie
  } catch {
    return false;
  }
}

/**
 * Frees the cluster at `path` from a `postmaster.pid` whose number belongs to another process by now (after a reboot,
 * or in a new container), which would keep PostgreSQL from starting. It passes over the number of its own parent,
 * so that one is put in place of the old; its check for backends that still use the shared memory stays in force.
 */
export function disownStalePid(path: string): void {
  const file = join(path, 'postmaster.pid');
  const [, ...rest] = readFileSync(file, 'utf8').split('\n');
  writeFileSync(file, [process.pid, ...rest].join('\n'));
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
