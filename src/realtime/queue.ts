/** First in, first out: both in constant time, for any length. */
export class Queue<Item> {
  private items: Item[] = [];
  /** Those before it are gone. */
  private head = 0;

  get size(): number {
    return this.items.length - this.head;
  }

  get first(): Item | undefined {
    return this.items[this.head];
  }

  add(item: Item): void {
    this.items.push(item);
  }

  take(): Item | undefined {
    const { first } = this;
    if (first === undefined) return undefined;
    this.head++;
    if (this.head * 2 > this.items.length) {
      this.items = this.items.slice(this.head);
      this.head = 0;
    }
    return first;
  }
}
