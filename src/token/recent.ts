/** Texts that were added a moment ago. Two sets take turns, so that forgetting costs nothing for each text. */
export class Recent {
  private young = new Set<string>();
  private old = new Set<string>();
  private turnAt = 0;

  /** @param ms how long each is remembered at least; at most twice that, while others are added */
  constructor(private readonly ms: number) {}

  has(text: string): boolean {
    return this.young.has(text) || this.old.has(text);
  }

  /** @returns whether it is new. One that is not is remembered no longer for it. */
  add(text: string): boolean {
    this.turn(performance.now());
    if (this.has(text)) return false;
    this.young.add(text);
    return true;
  }

  private turn(now: number): void {
    if (now < this.turnAt) return;
    this.old = this.young;
    this.young = new Set();
    this.turnAt = now + this.ms;
  }
}
