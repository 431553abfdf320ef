import { InvalidSettings } from '../../../platform/config/settings/invalid-settings.js';
import { isObject } from '../../../platform/http/parameters/json.js';

/**
 * Reads members of AGENTS_FILE, and collects what is wrong with them. Values are not quoted: some are hashes.
 */
export class FileErrors {
  private readonly lines: string[] = [];

  /** @param accepts completes "Use …" */
  add(member: string, accepts: string): void {
    this.lines.push(`AGENTS_FILE: ${member || 'the file'} is missing or invalid. Use ${accepts}.`);
  }

  /** @throws InvalidSettings if an error was added */
  check(): void {
    if (this.lines.length > 0) throw new InvalidSettings(this.lines);
  }

  /** @returns an object with these members alone; empty after an error */
  object(at: string, value: unknown, members: readonly string[]): Readonly<Record<string, unknown>> {
    if (!isObject(value)) {
      this.add(at, `an object with ${members.join(', ')}`);
      return {};
    }
    const others = Object.keys(value).filter((name) => !members.includes(name));
    if (others.length > 0) this.add(at, `no other members than ${members.join(', ')}`);
    return value;
  }

  list(at: string, value: unknown, least = 0): readonly unknown[] {
    if (isList(value, least)) return value;
    this.add(at, least === 0 ? 'a list' : `a list of at least ${least}`);
    return [];
  }

  /** @returns a text that a test accepts; empty after an error */
  text(at: string, value: unknown, accepts: string, isValid: (value: string) => boolean): string {
    if (typeof value === 'string' && isValid(value)) return value;
    this.add(at, accepts);
    return '';
  }

  texts(
    at: string,
    value: unknown,
    accepts: string,
    isValid: (value: string) => boolean,
    least = 0,
  ): readonly string[] {
    const isOne = (one: unknown): one is string => typeof one === 'string' && isValid(one);
    if (isList(value, least) && value.every(isOne)) return [...new Set(value)];
    this.add(at, `a list of ${accepts}`);
    return [];
  }

  /** @param parse returns undefined for a refused value */
  read<T>(at: string, { accepts, parse }: EntryParser<T>, value: unknown): T | undefined {
    const read = typeof value === 'string' ? parse(value) : undefined;
    if (read === undefined) this.add(at, accepts);
    return read;
  }

  unique(at: string, member: string, values: readonly string[]): void {
    const named = values.filter((value) => value !== ''); // others are errors already
    if (new Set(named).size < named.length) this.add(at, `each ${member} once`);
  }
}

export interface EntryParser<T> {
  readonly accepts: string;
  readonly parse: (text: string) => T | undefined;
}

export function isList(value: unknown, least = 0): value is readonly unknown[] {
  return Array.isArray(value) && value.length >= least;
}

/** Whether a value is text on one line, not blank. */
export function isText(value: unknown, longest: number): value is string {
  return (
    typeof value === 'string' && value.length <= longest && value.trim() !== '' && !/\p{Cc}/u.test(value)
  );
}
