import { resolve } from 'node:path';
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import type { SecretFile } from '../providers/provider-settings.js';
import { quote, unreadable } from '../settings/invalid-settings.js';
import type { Faults } from '../settings/invalid-settings.js';
import { providerKeys } from '../providers/provider-keys.js';
import type { Environment, Setting } from '../settings/setting-row.js';
import { settingsTable } from '../settings/settings-table.js';

/**
 * The most bytes that a file of a secret may hold: a database's URL and the longest keys are below one KiB. Not more is read: a
 * path may lead to what never ends (`/dev/zero`), which Node.js reads until the process is out of memory, and ended.
 */
const MOST = 64 * 1024;

/** How to open a file while the service runs: a named pipe to which nobody writes would stop it until somebody does. */
export const WITHOUT_WAITING = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * What a file of a secret holds.
 * @param path also of a pipe (`/dev/fd/63`)
 * @param flags of open(2); by default a named pipe is waited for until somebody writes to it
 * @param check throws if the open file must not be read
 * @throws Error with a `code`, as those of node:fs; `EFBIG` for more than 64 KiB, `EAGAIN` for a pipe that is not waited for
 */
export function readSecretFile(
  path: string,
  flags = constants.O_RDONLY,
  check: (found: Stats) => void = () => undefined,
): string {
  const file = openSync(path, flags);
  try {
    check(fstatSync(file));
    const content = new Content();
    while (content.add(readSync(file, content.rest))) continue;
    return content.text;
  } finally {
    closeSync(file);
  }
}

/** The same without waiting, for the disk or for a pipe. */
export async function readSecretFileLater(path: string): Promise<string> {
  const file = await open(path, WITHOUT_WAITING);
  try {
    const content = new Content();
    while (content.add((await file.read(content.rest)).bytesRead)) continue;
    return content.text;
  } finally {
    await file.close();
  }
}

/**
 * Decodes a file of settings by its byte order mark, which PowerShell's `>` writes; without one as UTF-8.
 * @throws Error with a `code`, as those of node:fs, for bytes that are no text
 */
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

class Content {
  private readonly bytes = Buffer.alloc(MOST + 1);
  private length = 0;

  /** Where what is read next belongs. */
  get rest(): Buffer {
    return this.bytes.subarray(this.length);
  }

  get text(): string {
    return decodeText(this.bytes.subarray(0, this.length));
  }

  /** @returns whether there may be more */
  add(read: number): boolean {
    this.length += read;
    if (this.length > MOST) throw Object.assign(new Error('more than 64 KiB'), { code: 'EFBIG' });
    return read > 0;
  }
}

interface WithSecrets {
  readonly env: Environment;
  /** By the secret's variable (`DATABASE_URL`). */
  readonly secretFiles: ReadonlyMap<string, SecretFile>;
}

/**
 * The environment with each `<NAME>_FILE` of a secret replaced by `<NAME>` and what the file holds,
 * without the line break at its end (contract §2). For providers, in both spellings.
 */
export function readSecretFiles(env: Environment, cwd: string, faults: Faults): WithSecrets {
  const result: Record<string, string | undefined> = { ...env };
  const secretFiles = new Map<string, SecretFile>();
  for (const [variable, path] of Object.entries(env)) {
    const secret = secretOf(variable);
    if (!path || secret === undefined) continue;
    delete result[variable];
    if (env[secret]) {
      faults.add(secret, `and ${variable} are both set`, 'one of the two');
    } else {
      const file = { path: resolve(cwd, path), variable };
      faults.spelled(secret, variable);
      result[secret] = readSecret(secret, file.path, faults);
      secretFiles.set(secret, file);
    }
  }
  return { env: result, secretFiles };
}

/**
 * Content of a file without the line break at its end; undefined if it is blank.
 */
export function textOfSecret(content: string): string | undefined {
  let end = content.length;
  while (content[end - 1] === '\n' || content[end - 1] === '\r') end--; // /[\r\n]+$/ takes seconds for breaks inside
  const text = content.slice(0, end);
  return text.trim() === '' ? undefined : text;
}

function readSecret(secret: string, path: string, faults: Faults): string | undefined {
  try {
    const text = textOfSecret(readSecretFile(path));
    if (text !== undefined) return text;
    faults.add(secret, `${quote(path)}, which is empty`, `the path of a file that holds ${secret}`);
  } catch (error) {
    faults.add(secret, unreadable(path, error), `the path of a readable file that holds ${secret}`);
  }
  return undefined;
}

function secretNames(table: Readonly<Record<string, Setting<unknown>>>): string {
  const secrets = Object.values(table).filter((setting) => setting.secret);
  return `(?:${secrets.map((setting) => setting.name).join('|')})`;
}

const SECRET = secretNames(settingsTable);
const PROVIDER_SECRET = secretNames(providerKeys);
const FILE = new RegExp(
  String.raw`^(?:(${SECRET}|PROVIDERS_[A-Z0-9]+_${PROVIDER_SECRET.toUpperCase()})_FILE|(providers\.[^.]+\.${PROVIDER_SECRET})_file)$`,
);

/** The secret whose file a variable names, or `undefined` if it does not name one. */
function secretOf(variable: string): string | undefined {
  const [, upper, dotted] = FILE.exec(variable) ?? [];
  return upper ?? dotted;
}
