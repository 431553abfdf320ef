const MOST_LINES = 100;
const SECOND_MS = 1000;

/**
 * Bounds the lines of one kind in the log, since whoever is refused causes one: a hundred a second. What goes beyond is
 * counted, and told of as one number when its second is over.
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
