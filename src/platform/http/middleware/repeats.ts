const SECOND_MS = 1000;
/** Kinds that are distinguished at a time; the others are of one kind. */
const MOST_KINDS = 50;
const OTHER = '';

/**
 * Of log lines that are alike, only the first is written. While they repeat, one line a second has their
 * number; after a second without one, the next is a first again.
 */
export class Repeats<Line> {
  private readonly kinds = new Map<string, { readonly common: Line | undefined; count: number }>();
  private timer: NodeJS.Timeout | undefined;

  /** @param report receives common facts (undefined: too many kinds), and the lines of the last second */
  constructor(private readonly report: (common: Line | undefined, count: number) => void) {}

  /** Counts a line. @returns whether it is to be written */
  isFirst(kind: string, common: Line): boolean {
    const isOwn = this.kinds.has(kind) || this.kinds.size < MOST_KINDS;
    const key = isOwn ? kind : OTHER;
    const known = this.kinds.get(key);
    if (known) {
      known.count++;
      return false;
    }
    this.kinds.set(key, { common: isOwn ? common : undefined, count: 0 });
    this.awaitEnd();
    return true;
  }

  private awaitEnd(): void {
    this.timer ??= setTimeout(() => this.endSecond(), SECOND_MS).unref();
  }

  private endSecond(): void {
    this.timer = undefined;
    for (const [kind, one] of this.kinds) {
      const { common, count } = one;
      one.count = 0;
      if (count > 0) this.report(common, count);
      else this.kinds.delete(kind);
    }
    if (this.kinds.size > 0) this.awaitEnd();
  }
}
