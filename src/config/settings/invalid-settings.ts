/** Refuses the start, with every error of the configuration at once: one line each, without secrets. */
export class InvalidSettings extends Error {
  override readonly name = 'InvalidSettings';

  constructor(readonly errors: readonly string[]) {
    super(`invalid settings, nothing was started:\n${errors.map((error) => `  ${error}`).join('\n')}`);
  }
}

/** Collects the errors; for each variable only the first, since others follow from it. */
export class SettingErrors {
  readonly #lines = new Map<string, string>();
  readonly #spelled = new Map<string, string>();

  /** From now on `variable` is named as it was spelled: its value came from another one (`SECRET_KEY_FILE`). */
  spelled(variable: string, as: string): void {
    this.#spelled.set(variable, as);
  }

  /**
   * @param variable the setting that is at error
   * @param was what it was, in words that hold no secret (`quote` for a value)
   * @param accepts what is accepted instead
   */
  add(variable: string, was: string, accepts: string): void {
    const named = this.#spelled.get(variable) ?? variable;
    if (!this.#lines.has(variable)) this.#lines.set(variable, `${named}: ${was}; accepted: ${accepts}`);
  }

  /** Whether a variable is known to be at error: it was set, so no rule may say that it was not, or what follows from its default. */
  has(variable: string): boolean {
    return this.#lines.has(variable);
  }

  /** @throws InvalidSettings when there is a error */
  check(): void {
    if (this.#lines.size > 0) throw this.error();
  }

  error(): InvalidSettings {
    return new InvalidSettings([...this.#lines.values()]);
  }
}

/** `was "…"` on one line: control characters escaped, possible user info of a URL masked, at most 200 characters. */
export function quote(value: string): string {
  const masked = value.replace(/^([a-z]+:\/\/)?.*@/is, '$1***@');
  const short = masked.length > 200 ? `${masked.slice(0, 200)}…` : masked;
  const escaped = JSON.stringify(short).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `was ${escaped}`;
}

/** Whether a value is in quotation marks, which `docker --env-file` leaves, or which an editor has made typographic. */
export function isQuoted(value: string): boolean {
  return /^(?:"[^]*"|'[^]*'|`[^]*`|[“”„][^]*[“”]|[‘’‚][^]*[‘’])$/.test(value);
}

/** What a error says about a secret. */
export const NOT_SHOWN = 'was set to something else (not shown, it is a secret)';

/** What a error says about a file that could not be read. */
export function unreadable(path: string, error: unknown): string {
  return `${quote(path)}, which cannot be read (${fileErrorCode(error)})`;
}

/** The code of an error of the file system (`ENOENT`); no `instanceof`, which fails across realms. */
export function fileErrorCode(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'no code';
}
