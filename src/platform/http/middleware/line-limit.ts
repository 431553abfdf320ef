const MAX_LINES = 100;
const SECOND_MS = 1000;

/** Limits lines that requests can cause to 100 a second and kind, and then reports the number of others. */
export class LineLimit<Kind> {
  private readonly lines = new Map<Kind, number>();

  constructor(private readonly report: (kind: Kind, left: number) => void) {}

  /** Counts a line. @returns whether it may be written */
  admits(kind: Kind): boolean {
    if (this.lines.size === 0) setTimeout(() => this.endSecond(), SECOND_MS).unref();
    const count = (this.lines.get(kind) ?? 0) + 1;
    this.lines.set(kind, count);
    return count <= MAX_LINES;
  }

  private endSecond(): void {
    const counts = [...this.lines];
    this.lines.clear();
    for (const [kind, count] of counts) if (count > MAX_LINES) this.report(kind, count - MAX_LINES);
  }
}
