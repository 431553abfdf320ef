const MAX_LINES = 100;
const SECOND_MS = 1000;

/**
 * Limits log lines that requests can cause to a hundred a second. Further lines are counted, and their number is reported at the
 * end of the second.
 */
export class LineLimit {
  private lines = 0;
  private left = 0;
  private second?: NodeJS.Timeout | undefined;

  /** @param report receives the number of lines that were left out */
  constructor(private readonly report: (left: number) => void) {}

  /** Counts a line. @returns whether it may be written */
  admits(): boolean {
    this.second ??= setTimeout(() => this.begin(), SECOND_MS).unref();
    if (this.lines < MAX_LINES) {
      this.lines++;
      return true;
    }
    this.left++;
    return false;
  }

  private begin(): void {
    const { left } = this;
    this.lines = 0;
    this.left = 0;
    this.second = undefined;
    if (left > 0) this.report(left);
  }
}
