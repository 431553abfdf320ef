import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileErrorCode } from './invalid-settings.js';
import { secretKey } from './secret-key.js';
import type { SecretKey } from './secret-key.js';

/** The key that is kept under `DATA_DIR`. */
export interface KeptSecretKey {
  readonly key: SecretKey;
  /** The file, if this call created it. */
  readonly created?: string;
}

/**
 * The key kept under `DATA_DIR`, generated (32 random bytes, file mode 0600) at the very first call.
 *
 * The file appears whole or not at all, and only the first of two processes that start at once can
 * put it there, because `link` never replaces; both then read the same.
 *
 * @throws Refused when the file does not hold a key; the file system's error when it cannot be read or written
 */
export function keptSecretKey(dataDir: string): KeptSecretKey {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = join(dataDir, 'secret-key');
  const created = !existsSync(file) && create(file, randomBytes(32).toString('hex'));
  const key = secretKey.parse(readFileSync(file, 'utf8').trim());
  return created ? { key, created: file } : { key };
}

/**
 * The key kept under `DATA_DIR`, where there is one: for commands, which make none.
 * @throws as `keptSecretKey` does, and the file system's error (ENOENT) where there is none
 */
export function existingSecretKey(dataDir: string): KeptSecretKey {
  return { key: secretKey.parse(readFileSync(join(dataDir, 'secret-key'), 'utf8').trim()) };
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
