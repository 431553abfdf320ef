import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { SystemAccount } from './system-account.js';

// PostgreSQL's account owns the cluster and may replace any name in it by a link to a file of root or by a named pipe. A service
// that runs as root opens files without following links or waiting, and then checks what it has opened.
const { O_RDONLY, O_RDWR, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants; // the last three are undefined on Windows
const UNTRUSTED = O_NOFOLLOW | O_NONBLOCK;
/** Upper bound; these files have less than 1 KiB. */
const MAX_BYTES = 64 * 1024;
/** Codes of open(2) for a link, a socket and a directory. */
const NO_FILE = new Set<unknown>(['ELOOP', 'EMLINK', 'ENXIO', 'EISDIR']);

/**
 * Reads a file of the cluster.
 * @throws an error with the code ENOENT if it is missing; a sentence if it is no regular file of its directory's owner
 */
export function readOwnFile(path: string): string {
  return withOwnFile(path, O_RDONLY, (file) => contentOf(file, path));
}

/**
 * Replaces the text of a file of the cluster, if `change` returns another text.
 * @returns whether it did
 * @throws like `readOwnFile`
 */
export function changeOwnFile(path: string, change: (text: string) => string | undefined): boolean {
  return withOwnFile(path, O_RDWR, (file) => {
    const text = change(contentOf(file, path));
    if (text === undefined) return false;
    ftruncateSync(file);
    writeSync(file, text, 0);
    return true;
  });
}

/** Creates a directory for PostgreSQL's account alone. */
export function makeDirectoryFor(account: SystemAccount | undefined, path: string): void {
  mkdirSync(path, { mode: 0o700 });
  if (account) withDirectory(path, (directory) => fchownSync(directory, account.uid, account.gid));
}

/** Creates a file for PostgreSQL's account alone, and flushes it to the disk. */
export function makeFileFor(account: SystemAccount | undefined, path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600); // O_EXCL follows no link
  try {
    if (account) fchownSync(file, account.uid, account.gid);
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Changes the permissions of a directory.
 * @returns false, and changes nothing, if the directory belongs to another account than `uid`
 */
export function changeMode(path: string, uid: number | undefined, change: (mode: number) => number): boolean {
  return withDirectory(path, (directory) => {
    const found = fstatSync(directory);
    if (uid !== undefined && found.uid !== uid) return false;
    fchmodSync(directory, change(found.mode & 0o7777));
    return true;
  });
}

function withDirectory<Result>(path: string, use: (directory: number) => Result): Result {
  const directory = openSync(path, O_RDONLY | O_DIRECTORY | UNTRUSTED);
  try {
    return use(directory);
  } finally {
    closeSync(directory);
  }
}

function withOwnFile<Result>(path: string, flags: number, use: (file: number) => Result): Result {
  const { uid } = lstatSync(dirname(path));
  const file = openUntrusted(path, flags);
  try {
    const found = fstatSync(file);
    if (!found.isFile() || found.uid !== uid) throw replaced(path);
    return use(file);
  } finally {
    closeSync(file);
  }
}

function openUntrusted(path: string, flags: number): number {
  try {
    return openSync(path, flags | UNTRUSTED);
  } catch (error) {
    throw NO_FILE.has(errorCode(error)) ? replaced(path) : error;
  }
}

function contentOf(file: number, path: string): string {
  const bytes = Buffer.alloc(MAX_BYTES + 1);
  let length = 0;
  for (;;) {
    const read = readSync(file, bytes, length, bytes.length - length, length);
    length += read;
    if (length > MAX_BYTES) throw replaced(path);
    if (read === 0) return bytes.toString('utf8', 0, length);
  }
}

/** Returns the error for a file of the cluster that another program has replaced. */
export function replaced(path: string): Error {
  return new Error(
    `${path} is not a file of PostgreSQL's: another program has replaced it. Stop that program, then remove or restore the file`,
  );
}

/** Returns the `code` of a system error (`ENOENT`). */
export function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

/** Returns the message of an error of any realm. */
export function errorMessage(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message)
    : String(error);
}
