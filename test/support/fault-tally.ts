/** Counts requests by their kind, and the longest time without a success of each. */
export class FaultTally {
  requests = 0;
  failed = 0;
  /** What the failures were, e.g. `push 500`, and how often each. */
  readonly failures = new Map<string, number>();
  private readonly lastSuccess = new Map<string, number>();
  private readonly gaps = new Map<string, number>();

  /** @param outcome a status, or a code such as `ECONNREFUSED` */
  add(kind: string, succeeded: boolean, outcome: string): void {
    this.requests++;
    if (succeeded) {
      this.endGap(kind);
    } else {
      this.failed++;
      const failure = `${kind} ${outcome}`;
      this.failures.set(failure, (this.failures.get(failure) ?? 0) + 1);
    }
  }

  /** Milliseconds, of the kind for which it was longest; the time until now counts. */
  longestGap(): number {
    for (const kind of this.lastSuccess.keys()) this.endGap(kind);
    return Math.max(0, ...this.gaps.values());
  }

  private endGap(kind: string): void {
    const now = performance.now();
    const gap = now - (this.lastSuccess.get(kind) ?? now);
    this.lastSuccess.set(kind, now);
    this.gaps.set(kind, Math.max(gap, this.gaps.get(kind) ?? 0));
  }
}
