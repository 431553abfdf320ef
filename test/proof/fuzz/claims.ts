/**
 * What must be the outcome for an environment: which variables are at fault, which may be, and what the settings are where none is.
 */
export class Claims {
  /** By member of the settings; undefined: it has none. */
  readonly settings = new Map<string, unknown>();
  /** Each has to be named, by one of its names. */
  readonly faults: (readonly string[])[] = [];
  /** May be named. */
  readonly doubts = new Set<string>();
  /** Each has to be in a warning. */
  readonly warnings: string[] = [];
  private readonly open = new Set<string>();
  private readonly lost = new Set<string>();
  private readonly spellings = new Map<string, string>();

  setting(name: string, is: unknown, isOpen = false): void {
    this.settings.set(name, is);
    if (isOpen) this.open.add(name);
  }

  /** Whether the book itself says that its text is taken. */
  isSure(name: string): boolean {
    return !this.open.has(name);
  }

  /** @param variables one of which a line names: where two are in conflict, or one that is not set has two spellings */
  oneOf(...variables: readonly string[]): void {
    this.faults.push(variables.map((one) => this.spellings.get(one) ?? one));
  }

  fault(variable: string): void {
    this.oneOf(variable);
  }

  doubt(...variables: readonly string[]): void {
    for (const one of variables) this.doubts.add(this.spellings.get(one) ?? one);
  }

  warning(variable: string): void {
    this.warnings.push(variable);
  }

  /** From now on a variable is named as it was spelled. */
  spelled(variable: string, as: string): void {
    this.spellings.set(variable, as);
  }

  /** Its value is not known: nothing more is said about it. */
  lose(variable: string): void {
    this.lost.add(variable);
  }

  isLost(variable: string): boolean {
    return this.lost.has(variable);
  }
}
