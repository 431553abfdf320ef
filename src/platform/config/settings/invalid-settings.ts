/** Refuses the start, with one line for each error of the configuration, without secrets. */
export class InvalidSettings extends Error {
  override readonly name = 'InvalidSettings';

  constructor(readonly errors: readonly string[]) {
    super(`invalid settings, nothing was started:\n${errors.map((error) => `  ${error}`).join('\n')}`);
  }
}

/** Collects errors, one for each variable: later ones follow from the first. */
export class SettingErrors {
  readonly #lines = new Map<string, string>();
  readonly #spelled = new Map<string, string>();

  /** Reports errors of `variable` under another name. */
  spelled(variable: string, as: string): void {
    this.#spelled.set(variable, as);
  }

  /** @param problem follows the variable's name @param use what to set @param value quoted, or `NOT_SHOWN` */
  add(variable: string, problem: string, use: string, value?: string): void {
    const named = this.#spelled.get(variable) ?? variable;
    if (!this.#lines.has(variable)) this.#lines.set(variable, errorLine(named, problem, use, value));
  }

  /** An invalid variable was set, so no rule may report that it was unset, or compare its default. */
  has(variable: string): boolean {
    return this.#lines.has(variable);
  }

  check(): void {
    if (this.#lines.size > 0) throw new InvalidSettings([...this.#lines.values()]);
  }
}

/** What happened, what to do, the value: `PORT is invalid. Use a whole number from 0 to 65535. Value: "x"` */
export function errorLine(variable: string, problem: string, use: string, value?: string): string {
  const shown = value === undefined ? '' : ` Value: ${value}.`;
  return `${variable} ${problem}. Use ${use}.${shown}`;
}

/** `"…"` on one line: control characters escaped, user info of a URL masked, at most 200 characters. */
export function quote(value: string): string {
  const masked = value.replace(/^([a-z]+:\/\/)?.*@/is, '$1***@');
  const short = masked.length > 200 ? `${masked.slice(0, 200)}…` : masked;
  return JSON.stringify(short).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Whether a value is in quotation marks: `docker --env-file` keeps them, editors make them typographic. */
export function isQuoted(value: string): boolean {
  return /^(?:"[^]*"|'[^]*'|`[^]*`|[“”„][^]*[“”]|[‘’‚][^]*[‘’])$/.test(value);
}

export const NOT_SHOWN = 'not shown (secret)';

export function unreadable(error: unknown): string {
  return `cannot be read (${fileErrorCode(error)})`;
}

/** Returns the code of an error of the file system (`ENOENT`). */
export function fileErrorCode(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'no code';
}

/**
 * Returns the known name that an unknown one resembles: equal but for case, underscores, an S that ends a
 * word (`CORS_ORIGIN`) or `_FILE`, or with one typing error. Shorter names resemble too many others.
 */
export function suggestionFor(name: string, known: readonly string[], minLength = 8): string | undefined {
  if (known.includes(name)) return undefined;
  const base = name.replace(/_file$/i, '');
  const normalized = normalize(name);
  return known.find(
    (other) =>
      base === other ||
      normalized === normalize(other) ||
      (other.length >= minLength && hasOneTypo(name, other)),
  );
}

function normalize(name: string): string {
  const words = name.toUpperCase().split(/[_.-]+/);
  return words.map((word) => word.replace(/S$/, '')).join('');
}

/** One letter omitted, added or replaced, or two neighbours swapped. */
function hasOneTypo(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1) return false;
  let start = 0;
  while (start < one.length && one[start] === other[start]) start++;
  const [a, b] = [one.slice(start), other.slice(start)];
  if (a.slice(1) === b.slice(1) || a.slice(1) === b || a === b.slice(1)) return true;
  return a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
}
