import { unreadable } from '../settings/invalid-settings.js';
import type { Kind } from '../settings/kinds.js';
import type { SecretFile } from '../providers/provider-settings.js';
import { textOfSecret, readSecretFile, readSecretFileLater, WITHOUT_WAITING } from './secret-files.js';

/** How old the answer of `recent` may be: a rotation takes longer than that. */
const RECENT_MS = 1000;

/** A secret as it is now: where it is in a file, that may be replaced while the service runs (contract §2). */
export interface CurrentSecret<T> {
  /** Reads the file again, at once: for a new connection, whose client is made without waiting. */
  now(): T;
  /** Reads the file again unless that was within the last second: for what happens often. */
  recent(): Promise<T>;
}

/** One reader for each file, however many parts of the service use the secret: so a fault is logged once. */
const readers = new WeakMap<SecretFile, CurrentSecret<unknown>>();

/**
 * @param file undefined: the value stays what it is
 * @param value what it was at the start; a file that cannot be read, or holds what is not accepted, leaves the last value
 * @param warn gets one line when that begins, or has another reason; it holds the file's path, never what is in it
 */
export function currentSecret<T>(
  file: SecretFile | undefined,
  kind: Kind<T>,
  value: T,
  warn: (line: string) => void,
): CurrentSecret<T> {
  if (!file) return { now: () => value, recent: () => Promise.resolve(value) };
  const reader =
    (readers.get(file) as CurrentSecret<T> | undefined) ?? new SecretInFile(file, kind, value, warn);
  readers.set(file, reader);
  return reader;
}

class SecretInFile<T> implements CurrentSecret<T> {
  private readAt = performance.now();
  private reading: Promise<void> | undefined;
  private told: string | undefined;

  constructor(
    private readonly file: SecretFile,
    private readonly kind: Kind<T>,
    private value: T,
    private readonly warn: (line: string) => void,
  ) {}

  now(): T {
    let content: string;
    try {
      content = readSecretFile(this.file.path, WITHOUT_WAITING);
    } catch (error) {
      this.keep(unreadable(this.file.path, error));
      return this.value;
    }
    this.take(content);
    return this.value;
  }

  async recent(): Promise<T> {
    if (performance.now() - this.readAt > RECENT_MS) await (this.reading ??= this.read());
    return this.value;
  }

  private async read(): Promise<void> {
    await readSecretFileLater(this.file.path).then(
      (content) => this.take(content),
      (error: unknown) => this.keep(unreadable(this.file.path, error)),
    );
    this.readAt = performance.now();
    this.reading = undefined;
  }

  private take(content: string): void {
    const text = textOfSecret(content);
    if (text === undefined) return this.keep('names a file that is empty');
    try {
      this.value = this.kind.parse(text);
      this.told = undefined;
    } catch {
      this.keep(`names a file that holds something else (not shown) than ${this.kind.accepts}`);
    }
  }

  private keep(reason: string): void {
    if (reason !== this.told) this.warn(`${this.file.variable}: ${reason}; the last value is used`);
    this.told = reason;
  }
}
