import type { SecretFile } from '../settings/settings.js';
import { quote, unreadable } from '../settings/invalid-settings.js';
import { InvalidValue, type Parser } from '../settings/parsers.js';
import { textOfSecret } from '../settings/setting-row.js';
import { NONBLOCKING, readSecretFile } from './secret-files.js';

const MAX_AGE_MS = 1000;

/** Secret, perhaps in a file that is replaced at run time (docs/maintenance.md#rotating-secrets). */
export class CurrentSecret<T> {
  private readAt = performance.now();
  private warned: string | undefined;

  constructor(
    private readonly file: SecretFile | undefined,
    private readonly parser: Parser<T>,
    private value: T,
    private readonly warn: (line: string) => void,
  ) {}

  /** Reads the file again. */
  now(): T {
    if (!this.file) return this.value;
    const reason = this.read(this.file.path);
    if (reason !== undefined && reason !== this.warned) {
      this.warn(`${this.file.variable} ${reason}. The last value is used.`);
    }
    this.warned = reason;
    return this.value;
  }

  /** Reads the file again if the last call did so more than 1 s ago. */
  recent(): T {
    if (performance.now() - this.readAt <= MAX_AGE_MS) return this.value;
    this.readAt = performance.now();
    return this.now();
  }

  /** @returns why the value stays as it was */
  private read(path: string): string | undefined {
    try {
      const text = textOfSecret(readSecretFile(path, NONBLOCKING));
      if (text === undefined) return 'is an empty file';
      this.value = this.parser.parse(text);
      return undefined;
    } catch (error) {
      return error instanceof InvalidValue
        ? `holds something else (not shown) than ${this.parser.accepts}`
        : `${unreadable(error)}: ${quote(path)}`;
    }
  }
}

/** One reader a file: all users of the secret share it, so that an error is logged once. */
const readers = new WeakMap<SecretFile, CurrentSecret<unknown>>();

/**
 * Returns the reader of a secret; without a file, it keeps `value`.
 * @param value at the start; stays in use while the file is unreadable or invalid
 * @param warn receives one line for each new reason, without the file's content
 */
export function currentSecret<T>(
  file: SecretFile | undefined,
  parser: Parser<T>,
  value: T,
  warn: (line: string) => void,
): CurrentSecret<T> {
  const known = file && readers.get(file);
  if (known) return known as CurrentSecret<T>;
  const reader = new CurrentSecret(file, parser, value, warn);
  if (file) readers.set(file, reader);
  return reader;
}
