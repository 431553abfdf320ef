import { resolve } from 'node:path';
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import type { SecretFile, Settings } from '../settings/settings.js';
import { quote, unreadable, type SettingErrors } from '../settings/invalid-settings.js';
import { textOfSecret, type Environment } from '../settings/setting-row.js';
import type { SettingTables } from '../settings/settings-part.js';

/** Upper bound for a file of a secret: a path may lead to an endless file (`/dev/zero`). */
const MAX_BYTES = 64 * 1024;

/** Flags for a file that is read while the service runs: a named pipe without a writer does not block. */
export const NONBLOCKING = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * Reads a secret from a file or a pipe (`/dev/fd/63`). By default, the call waits for a pipe's writer.
 * @param check throws if the open file must not be read
 * @throws an error with a `code`, as node:fs: `EFBIG` for more than 64 KiB, `EAGAIN` for a pipe without data
 */
export function readSecretFile(
  path: string,
  flags = constants.O_RDONLY,
  check: (found: Stats) => void = () => undefined,
): string {
  const file = openSync(path, flags);
  try {
    check(fstatSync(file));
    const bytes = Buffer.alloc(MAX_BYTES + 1);
    let length = 0;
    for (;;) {
      const read = readSync(file, bytes, length, bytes.length - length, null);
      length += read;
      if (length > MAX_BYTES) throw Object.assign(new Error('more than 64 KiB'), { code: 'EFBIG' });
      if (read === 0) return decodeText(bytes.subarray(0, length));
    }
  } finally {
    closeSync(file);
  }
}

/** Decodes by a byte order mark (PowerShell's `>` writes it), else UTF-8. @throws an error with a `code` */
export function decodeText(bytes: Buffer): string {
  const mark = bytes.toString('hex', 0, 2);
  const encoding = mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8';
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch {
    // reported below
  }
  const message = 'not text in UTF-8, nor in UTF-16 with a byte order mark';
  throw Object.assign(new Error(message), { code: message });
}

/** Replaces each `<NAME>_FILE` of a secret by `<NAME>` and the content; of providers in both spellings. */
export function readSecretFiles(
  env: Environment,
  cwd: string,
  tables: SettingTables,
  errors: SettingErrors,
): { env: Environment; secretFiles: Settings['secretFiles'] } {
  const result: Record<string, string | undefined> = { ...env };
  const secretFiles = new Map<string, SecretFile>();
  const file = nameOfFiles(tables);
  for (const [variable, path] of Object.entries(env)) {
    const [, upper, secret = upper] = file.exec(variable) ?? [];
    if (!path || secret === undefined) continue;
    delete result[variable];
    if (env[secret]) {
      errors.add(secret, `and ${variable} are both set`, 'one of the two');
    } else {
      const secretFile = { path: resolve(cwd, path), variable };
      errors.spelled(secret, variable);
      result[secret] = readSecret(secret, secretFile.path, errors);
      secretFiles.set(secret, secretFile);
    }
  }
  return { env: result, secretFiles };
}

function readSecret(secret: string, path: string, errors: SettingErrors): string | undefined {
  try {
    const text = textOfSecret(readSecretFile(path));
    if (text !== undefined) return text;
    errors.add(secret, 'is an empty file', `the path of a file that holds ${secret}`, quote(path));
  } catch (error) {
    errors.add(secret, unreadable(error), `the path of a readable file that holds ${secret}`, quote(path));
  }
  return undefined;
}

/** Matches `<NAME>_FILE` of a secret: with the secret's variable as one of two groups. */
function nameOfFiles({ settings, providerSecrets }: SettingTables): RegExp {
  const names = Object.values(settings).flatMap(({ name, secret }) => (secret ? name : []));
  const key = `(?:${providerSecrets.join('|')})`;
  return new RegExp(
    String.raw`^(?:((?:${names.join('|')})|PROVIDERS_[A-Z0-9]+_${key.toUpperCase()})_FILE|(providers\.[^.]+\.${key})_file)$`,
  );
}
