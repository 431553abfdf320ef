import { temporarilyUnavailable } from './latchkey-error.js';

/** Lets so many calls run at a time; the rest waits, up to a number. */
export class Turns {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(
    private readonly atATime: number,
    private readonly mostWaiting: number,
  ) {}

  /** @throws LatchkeyError `temporarily_unavailable` when too many wait */
  async take<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.running < this.atATime) this.running++;
    else if (this.waiting.length >= this.mostWaiting) throw temporarilyUnavailable();
    else await new Promise<void>((resolve) => this.waiting.push(resolve)); // the turn is handed over
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.running--;
    }
  }
}
