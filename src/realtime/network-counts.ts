/** How many of each network there are; takes memory for those only that are there. */
export class NetworkCounts {
  private readonly counts = new Map<string, number>();

  of(network: string): number {
    return this.counts.get(network) ?? 0;
  }

  /** @returns how many there are now */
  add(network: string): number {
    const count = this.of(network) + 1;
    this.counts.set(network, count);
    return count;
  }

  delete(network: string): void {
    const count = this.of(network) - 1;
    if (count > 0) this.counts.set(network, count);
    else this.counts.delete(network);
  }
}
