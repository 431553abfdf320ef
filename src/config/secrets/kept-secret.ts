import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import type { Stats } from 'node:fs';
import { join } from 'node:path';
import { fileErrorCode } from '../settings/invalid-settings.js';
import { Refused, type Parser } from '../settings/parsers.js';
import { readSecretFile, NONBLOCKING } from './secret-files.js';

/** Secret in a file under `DATA_DIR`. */
export interface KeptSecret<T> {
  readonly value: T;
  /** The file, if this call created it. */
  readonly created?: string;
  /** A sentence for the log if other accounts can read or replace the file. */
  readonly warning?: string;
}

/** Files under `DATA_DIR`, by the setting that they replace. */
export const KEPT_FILES = { SECRET_KEY: 'secret-key', SERVICE_KEYS: 'service-key' } as const;

/**
 * Reads a secret under `DATA_DIR`; the first call generates it (32 random bytes as hex, file mode 0600). The file appears at
 * once, and never replaces another one (`link`), so that processes that start at once use one secret.
 *
 * @throws Refused if the file does not hold such a secret; an error of node:fs if it cannot be read or written
 */
export function keptSecret<T>(dataDir: string, file: string, parser: Parser<T>): KeptSecret<T> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const path = join(dataDir, file);
  const created = !existsSync(path) && create(path, randomBytes(32).toString('hex'));
  const kept = readSecret(path, parser);
  return created ? { ...kept, created: path } : kept;
}

/**
 * Reads a secret under `DATA_DIR` for a command, which generates none.
 * @throws like `keptSecret`; ENOENT without the file
 */
export function existingSecret<T>(dataDir: string, file: string, parser: Parser<T>): KeptSecret<T> {
  return readSecret(join(dataDir, file), parser);
}

/**
 * Returns why other accounts can replace files in `DATA_DIR` (its owner or its mode), in words that follow its name;
 * undefined if they cannot, if it does not exist, and on Windows.
 */
export function exposureOfDataDir(dataDir: string): string | undefined {
  try {
    const link = lstatSync(dataDir);
    return (link.isSymbolicLink() ? exposure(link, 0) : undefined) ?? exposure(statSync(dataDir), 0o022);
  } catch {
    return undefined; // creating or reading it reports the reason
  }
}

/** @param closed permissions that other accounts must not have */
function exposure({ uid, mode }: Stats, closed: number): string | undefined {
  const self = process.getuid?.();
  if (self === undefined) return undefined;
  if (uid !== self && uid !== 0) return `belongs to the account with the user id ${uid}`;
  return mode & closed ? `has the mode ${(mode & 0o7777).toString(8)}` : undefined;
}

/** Another account may have replaced the file by a link or a named pipe, which is neither followed nor waited for. */
function readSecret<T>(file: string, parser: Parser<T>): KeptSecret<T> {
  let exposed: string | undefined;
  const check = (found: Stats): void => {
    if (!found.isFile()) throw new Refused('', 'is not a regular file');
    exposed = exposure(found, 0o077);
  };
  const value = parser.parse(readWithoutFollowing(file, check).trim());
  if (exposed === undefined) return { value };
  const warning = `${file} ${exposed}, so other accounts may know or replace the key in it: make it this account's with mode 600.`;
  return { value, warning };
}

function readWithoutFollowing(file: string, check: (found: Stats) => void): string {
  try {
    return readSecretFile(file, NONBLOCKING | constants.O_NOFOLLOW, check);
  } catch (error) {
    if (['ELOOP', 'EMLINK'].includes(fileErrorCode(error))) throw new Refused('', 'is a symbolic link');
    throw error;
  }
}

function create(file: string, content: string): boolean {
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    writeSync(descriptor, content);
    fsyncSync(descriptor);
    return linkUnlessThere(draft, file);
  } finally {
    closeSync(descriptor);
    unlinkSync(draft);
  }
}

function linkUnlessThere(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (fileErrorCode(error) === 'EEXIST') return false;
    throw error;
  }
}
