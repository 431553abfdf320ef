import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { open } from 'node:fs/promises';

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
