/** Longer than a key lives: what was new in this span and in the one before are all that may be alive. */
const SPAN_MS = 60_000;

/** How many keys are counted at most at this moment, known without a list of them. */
export class LiveKeys {
  private before = 0;
  private now = 0;
  private began = performance.now();

  /** A key has begun its minute. */
  add(): void {
    this.turn();
    this.now++;
  }

  get most(): number {
    this.turn();
    return this.before + this.now;
  }

  private turn(): void {
    const passed = performance.now() - this.began;
    if (passed < SPAN_MS) return;
    this.before = passed < 2 * SPAN_MS ? this.now : 0;
    this.now = 0;
    this.began = performance.now();
  }
}
