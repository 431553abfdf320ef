import { randomBytes } from 'node:crypto';
import fs, { constants, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorLine, fileErrorCode, InvalidSettings } from '../settings/invalid-settings.js';
import { InvalidValue, type Parser } from '../settings/parsers.js';
import { readSecretFile, NONBLOCKING } from './secret-files.js';

export interface GeneratedSecret<T> {
  /** Unset: no file exists, and a start would create it (`checked`). */
  readonly value?: T;
  /** A sentence for the log, if this call created the file, or other accounts can read or replace it. */
  readonly warning?: string;
}

/** Files under `DATA_DIR`, and what was generated into them, by the setting that they replace. */
const FILES = {
  SECRET_KEY: ['secret-key', 'A new key', ' Keep this file.'],
  SERVICE_KEYS: ['service-key', 'A key with all rights', ''],
} as const;

/**
 * Reads the secret under `DATA_DIR` that replaces a setting. Processes that start at once use one secret,
 * since the file appears at once, and never replaces another one (`link`).
 * @throws InvalidSettings if the file cannot be read or written, or holds no such secret; without content
 */
export function generatedSecret<T>(
  dataDir: string,
  setting: keyof typeof FILES,
  parser: Parser<T>,
  access: 'generated' | 'existing' | 'checked',
): GeneratedSecret<T> {
  const [name, key, advice] = FILES[setting];
  const file = join(dataDir, name);
  const generates = access === 'generated';
  try {
    if (access === 'checked' && !fs.existsSync(file)) {
      requireWritable(dataDir);
      return { warning: `${setting} is not set. A start generates a key: ${file}.` };
    }
    if (generates) fs.mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const isNew = generates && !fs.existsSync(file) && create(file);
    const warning = `${setting} is not set. ${key} was generated: ${file}.${advice}`;
    return { ...readSecret(file, parser), ...(isNew && { warning }) };
  } catch (error) {
    const isMissing = !(error instanceof InvalidValue) && fileErrorCode(error) === 'ENOENT';
    const problem = isMissing
      ? `is not set, and there is no generated one in ${dataDir}`
      : `is not set, and the generated one in ${file} ${problemOf(error)}`;
    throw new InvalidSettings([errorLine(setting, problem, 'a value, or another DATA_DIR')]);
  }
}

/** @throws as node:fs if this account cannot create files in a directory, or the directory itself */
function requireWritable(directory: string): void {
  if (fs.existsSync(directory)) fs.accessSync(directory, constants.W_OK | constants.X_OK);
  else requireWritable(dirname(directory));
}

function problemOf(error: unknown): string {
  if (error instanceof InvalidValue) return error.problem ?? 'holds no key';
  const code = fileErrorCode(error);
  return ['ELOOP', 'EMLINK'].includes(code) ? 'is a symbolic link' : `cannot be used (${code})`;
}

/** Returns why other accounts can replace files in `DATA_DIR`; undefined if they cannot, and on Windows. */
export function exposureOfDataDir(dataDir: string): string | undefined {
  try {
    const link = fs.lstatSync(dataDir);
    return (link.isSymbolicLink() ? exposure(link, 0) : undefined) ?? exposure(fs.statSync(dataDir), 0o022);
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

/** Another account may have put a link or a named pipe there: neither is followed nor waited for. */
function readSecret<T>(file: string, parser: Parser<T>): GeneratedSecret<T> {
  let exposed: string | undefined;
  const check = (found: Stats): void => {
    if (!found.isFile()) throw new InvalidValue('', 'is not a regular file');
    exposed = exposure(found, 0o077);
  };
  const value = parser.parse(readSecretFile(file, NONBLOCKING | constants.O_NOFOLLOW, check).trim());
  if (exposed === undefined) return { value };
  const warning = `${file} ${exposed}, so other accounts may know or replace the key in it: make it this account's with mode 600.`;
  return { value, warning };
}

/** @returns false if another process has created the file */
function create(file: string): boolean {
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    fs.writeFileSync(draft, randomBytes(32).toString('hex'), { flag: 'wx', mode: 0o600, flush: true });
    fs.linkSync(draft, file);
    return true;
  } catch (error) {
    if (fileErrorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    fs.rmSync(draft, { force: true });
  }
}
