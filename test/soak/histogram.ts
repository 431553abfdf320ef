/** Each bucket ends 4 % above the one before it: so exact is a quantile. */
const STEP = Math.log(1.04);
const SMALLEST_MS = 0.05;
const BUCKETS = 400; // up to some five minutes

/** Times in buckets: as many values as one likes, in the same memory. */
export class Histogram {
  private readonly buckets = new Uint32Array(BUCKETS);
  count = 0;
  max = 0;

  add(milliseconds: number): void {
    const bucket = Math.ceil(Math.log(Math.max(milliseconds, SMALLEST_MS) / SMALLEST_MS) / STEP);
    this.buckets[Math.min(bucket, BUCKETS - 1)]!++;
    this.count++;
    this.max = Math.max(this.max, milliseconds);
  }

  /** @returns milliseconds: the end of the bucket in which that share of the values is reached; NaN of nothing */
  quantile(share: number): number {
    let left = Math.ceil(this.count * share);
    if (left === 0) return NaN;
    const bucket = this.buckets.findIndex((count) => (left -= count) <= 0);
    return Math.min(this.max, SMALLEST_MS * Math.exp(bucket * STEP));
  }
}
