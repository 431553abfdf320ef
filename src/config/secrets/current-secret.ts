import type { SecretFile } from '../settings/settings.js';
import { quote, unreadable } from '../settings/invalid-settings.js';
import type { Parser } from '../settings/parsers.js';
import { NONBLOCKING, readSecretFile, textOfSecret } from './secret-files.js';

const MAX_AGE_MS = 1000;

/** A secret in a file that may be replaced while the service runs (contract §2). */
export interface CurrentSecret<T> {
  /** Reads the file again. */
  now(): T;
  /** Reads the file again if the last call did so more than 1 s ago. */
  recent(): T;
}

/** One reader a file: all parts of the service that use the secret share it, so that an error is logged once. */
const readers = new WeakMap<SecretFile, CurrentSecret<unknown>>();

/**
 * Returns the reader of a secret.
 *
 * @param file undefined for a secret that is not in a file; it keeps `value`
 * @param value at the start; stays in use while the file is unreadable or invalid
 * @param warn receives one line for each new reason; it holds the file's path, never its content
 */
export function currentSecret<T>(
  file: SecretFile | undefined,
  parser: Parser<T>,
  value: T,
  warn: (line: string) => void,
): CurrentSecret<T> {
  if (!file) return { now: () => value, recent: () => value };
  const reader =
    (readers.get(file) as CurrentSecret<T> | undefined) ?? new SecretInFile(file, parser, value, warn);
  readers.set(file, reader);
  return reader;
}

class SecretInFile<T> implements CurrentSecret<T> {
  private readAt = performance.now();
  private warned: string | undefined;

  constructor(
    private readonly file: SecretFile,
    private readonly parser: Parser<T>,
    private value: T,
    private readonly warn: (line: string) => void,
  ) {}

  now(): T {
    const reason = this.read();
    if (reason !== undefined && reason !== this.warned) {
      this.warn(`${this.file.variable} ${reason}. The last value is used.`);
    }
    this.warned = reason;
    return this.value;
  }

  recent(): T {
    if (performance.now() - this.readAt <= MAX_AGE_MS) return this.value;
    this.readAt = performance.now();
    return this.now();
  }

  /** @returns why the value stays as it was */
  private read(): string | undefined {
    let text: string | undefined;
    try {
      text = textOfSecret(readSecretFile(this.file.path, NONBLOCKING));
    } catch (error) {
      return `${unreadable(error)}: ${quote(this.file.path)}`;
    }
    if (text === undefined) return 'is an empty file';
    try {
      this.value = this.parser.parse(text);
    } catch {
      return `holds something else (not shown) than ${this.parser.accepts}`;
    }
    return undefined;
  }
}
