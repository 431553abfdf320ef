import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { SOCKET_FILE, SOCKET_LOCK_FILE, socketIn, type Address } from './address.js';
import { canEnter, type SystemAccount } from './system-account.js';

const MAX_BYTES = 103; // of a socket's path: 107 on Linux, 103 on macOS
const RANDOM = 'XXXXXX'; // what `mkdtemp` appends
const PLACES = ['/run', tmpdir(), '/tmp']; // `/run` belongs to root, and no cleaner removes its files

/**
 * The private directory (mode 0700) of one server's socket. Not below `DATA_DIR`, because that path may be too long. Its name is
 * random, because other accounts could take a predictable name in /tmp.
 */
export class SocketDirectory {
  private constructor(
    private readonly cluster: string,
    private readonly account: SystemAccount | undefined,
    private readonly places: readonly string[],
    private readonly path: string,
  ) {}

  /**
   * @param places parent directories, best first
   * @returns undefined on Windows, or if no place is short, safe and writable
   */
  static make(
    cluster: string,
    account: SystemAccount | undefined,
    places: readonly string[] = PLACES,
  ): SocketDirectory | undefined {
    for (const prefix of prefixes(cluster, places)) {
      if (Buffer.byteLength(join(prefix + RANDOM, SOCKET_FILE)) > MAX_BYTES) continue;
      try {
        const made = new SocketDirectory(cluster, account, places, mkdtempSync(prefix));
        made.handOver();
        if (!account || canEnter(account, made.path)) return made;
        made.remove();
      } catch {
        continue; // read-only, full, or closed to this account
      }
    }
    return undefined;
  }

  /**
   * Prepares a server's start: makes a missing directory again, and removes the files of a killed server, because its lock
   * file would stop the next server if another process had its number.
   *
   * @throws if another account has taken the name
   */
  open(): Address {
    if (!lstatSync(this.path, { throwIfNoEntry: false })) {
      mkdirSync(this.path, { mode: 0o700 }); // fails if another program was faster
      this.handOver();
    }
    if (!this.isOurs()) throw new Error(`${this.path} belongs to another account`);
    this.empty();
    return socketIn(this.path);
  }

  hasSocket(): boolean {
    return hasSocket(this.path);
  }

  remove(): void {
    try {
      if (!this.isOurs()) return;
      this.empty();
      rmdirSync(this.path);
    } catch {
      return; // a later start removes it
    }
  }

  /** Removes the directories of killed services; only for the owner of the cluster. */
  removeOthers(): void {
    for (const prefix of prefixes(this.cluster, this.places)) {
      const place = dirname(prefix);
      for (const name of readdirSync(place)) {
        const path = join(place, name);
        if (!path.startsWith(prefix) || path === this.path) continue;
        new SocketDirectory(this.cluster, this.account, this.places, path).remove();
      }
    }
  }

  private handOver(): void {
    if (this.account) lchownSync(this.path, this.account.uid, this.account.gid);
  }

  private isOurs(): boolean {
    const found = lstatSync(this.path, { throwIfNoEntry: false });
    const uid = this.account?.uid ?? process.getuid?.();
    return found !== undefined && found.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0;
  }

  private empty(): void {
    removeSocket(this.path, this.account);
  }
}

export function hasSocket(directory: string): boolean {
  return lstatSync(join(directory, SOCKET_FILE), { throwIfNoEntry: false }) !== undefined;
}

/** Whether a server listens on the socket in a directory; the socket of a killed one refuses. */
export async function acceptsConnections(directory: string): Promise<boolean> {
  if (!hasSocket(directory)) return false;
  const socket = connect(join(directory, SOCKET_FILE));
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Runs as the account, which may replace the directory by a link after a check. */
function removeSocket(directory: string, account: SystemAccount | undefined): void {
  const files = [SOCKET_FILE, SOCKET_LOCK_FILE].map((file) => join(directory, file));
  if (account) spawnSync('rm', ['-f', '--', ...files], { ...account, cwd: '/', env: {} });
  else for (const file of files) rmSync(file, { force: true });
}

const MAX_BYTES_IN_CLUSTER = 100;

/**
 * Whether the cluster's own directory has a second socket: for commands that do not see the first one, such as those outside
 * of a unit with `PrivateTmp`. Not on Windows, nor if its path is too long.
 */
export function hasRoomForSocket(cluster: string): boolean {
  return (
    process.platform !== 'win32' && Buffer.byteLength(join(cluster, SOCKET_FILE)) <= MAX_BYTES_IN_CLUSTER
  );
}

/** Removes the socket of a killed server, as `SocketDirectory.open` does. */
export function removeSocketOf(cluster: string, account: SystemAccount | undefined): void {
  if (lstatSync(join(cluster, SOCKET_LOCK_FILE), { throwIfNoEntry: false })) removeSocket(cluster, account);
}

/** Returns the beginnings of the paths of this cluster's directories. */
function prefixes(cluster: string, places: readonly string[]): string[] {
  if (process.platform === 'win32') return [];
  const name = `latchkey-${createHash('sha256').update(cluster).digest('hex').slice(0, 8)}-`;
  const safe = places.filter(isSafe).map((place) => realpathSync(place));
  return [...new Set(safe)].map((place) => join(place, name));
}

/** Whether other accounts cannot replace a directory in this place. */
function isSafe(place: string): boolean {
  const found = statSync(place, { throwIfNoEntry: false });
  if (!found?.isDirectory() || (found.uid !== 0 && found.uid !== process.getuid?.())) return false;
  const [writable, sticky] = [found.mode & 0o022, found.mode & 0o1000];
  return !writable || Boolean(sticky);
}
