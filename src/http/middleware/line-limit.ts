const MOST_LINES = 100;
const SECOND_MS = 1000;

/**
 * Bounds the log lines of one kind, since anyone can cause them: a hundred a second. Lines beyond that are only counted, and
 * their number is told when the second is over.
 */
export class LineLimit {
  private lines = 0;
  private left = 0;
  private second?: NodeJS.Timeout | undefined;

  constructor(private readonly tell: (left: number) => void) {}

  /** Whether one more line may be written now. */
  admits(): boolean {
    this.second ??= setTimeout(() => this.begin(), SECOND_MS).unref();
    if (this.lines < MOST_LINES) {
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
    if (left > 0) this.tell(left);
  }
}
