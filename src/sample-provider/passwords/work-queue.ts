/**
 * Runs a few jobs at a time, lets some more wait, and refuses the rest, so that a flood stays a short queue. Callers take
 * turns, and each may have only so many jobs waiting: a caller with many jobs delays itself, not the others.
 */
export class WorkQueue {
  private running = 0;
  private waiting = 0;
  /** The waiting jobs of each caller, the one whose turn is next first. Callers without a waiting job are not listed. */
  private readonly turns = new Map<string, (() => void)[]>();

  constructor(
    private readonly mostRunning: number,
    private readonly mostWaiting: number,
    private readonly mostWaitingOfOne: number,
  ) {}

  /**
   * @param who the caller, with whom jobs share a turn
   * @returns undefined when the queue, or the caller's share of it, is full: the job has not run and will not.
   */
  async run<T>(who: string, job: () => Promise<T>): Promise<T | undefined> {
    if (this.running < this.mostRunning) this.running++;
    else if (this.hasRoom(who)) await new Promise<void>((start) => this.wait(who, start));
    else return undefined;
    try {
      return await job();
    } finally {
      const next = this.next();
      if (next)
        next(); // takes this job's place
      else this.running--;
    }
  }

  private hasRoom(who: string): boolean {
    const own = this.turns.get(who)?.length ?? 0;
    return this.waiting < this.mostWaiting && own < this.mostWaitingOfOne;
  }

  private wait(who: string, start: () => void): void {
    this.waiting++;
    const own = this.turns.get(who);
    if (own) own.push(start);
    else this.turns.set(who, [start]);
  }

  private next(): (() => void) | undefined {
    const [turn] = this.turns;
    if (!turn) return undefined;
    const [who, [start, ...rest]] = turn;
    this.turns.delete(who);
    if (rest.length > 0) this.turns.set(who, rest); // behind the others
    this.waiting--;
    return start;
  }
}
