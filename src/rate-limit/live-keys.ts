/** As long as a key lives: all keys that may be alive began in this span or in the one before. */
const SPAN_MS = 60_000;

/** The most keys that may be counted at this moment, known without a list of them. */
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
