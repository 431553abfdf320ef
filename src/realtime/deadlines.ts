const TICK_MS = 250;

/**
 * One timer for any number of deadlines: they wait in a bucket a second, and a tick empties the buckets that are due.
 * A deadline is met at most a second and a tick late, never early.
 */
export class Deadlines<Item extends object> {
  private readonly buckets = new Map<number, Set<Item>>();
  private readonly secondOf = new Map<Item, number>();
  private readonly timer: NodeJS.Timeout;
  private emptiedUntil: number;

  /** @param now milliseconds since the epoch, by the clock that deadlines are given in */
  constructor(
    private readonly now: () => number,
    private readonly onDue: (item: Item) => void,
  ) {
    this.emptiedUntil = this.currentSecond();
    this.timer = setInterval(() => this.tick(), TICK_MS).unref();
  }

  /** Sets the one deadline that an item has; a former one is forgotten. What is past already is due at the next tick. */
  set(item: Item, atMs: number): void {
    this.delete(item);
    const second = Math.max(Math.ceil(atMs / 1000), this.emptiedUntil + 1);
    const bucket = this.buckets.get(second) ?? new Set();
    this.buckets.set(second, bucket.add(item));
    this.secondOf.set(item, second);
  }

  delete(item: Item): void {
    const second = this.secondOf.get(item);
    if (second === undefined) return;
    this.secondOf.delete(item);
    const bucket = this.buckets.get(second)!;
    bucket.delete(item);
    if (bucket.size === 0) this.buckets.delete(second);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private tick(): void {
    const second = this.currentSecond();
    while (this.emptiedUntil < second) {
      const due = this.buckets.get(++this.emptiedUntil) ?? [];
      this.buckets.delete(this.emptiedUntil);
      for (const item of due) {
        this.secondOf.delete(item);
        this.onDue(item);
      }
    }
  }

  private currentSecond(): number {
    return Math.floor(this.now() / 1000);
  }
}
