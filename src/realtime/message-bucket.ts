/** Messages a second that a client may send, and how many at once (contract §7). */
const PER_SECOND = 20;
const BURST = 50;

/** A bucket of BURST messages that fills up again at PER_SECOND. */
export class MessageBucket {
  private left = BURST;
  private countedAt = performance.now();

  /** Takes one message out. @returns false when there was none left */
  take(): boolean {
    const now = performance.now();
    this.left = Math.min(BURST, this.left + ((now - this.countedAt) / 1000) * PER_SECOND) - 1;
    this.countedAt = now;
    return this.left >= 0;
  }
}
