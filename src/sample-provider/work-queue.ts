/** Runs a few jobs at a time, lets some more wait, and refuses the rest: a flood of them stays a queue. */
export class WorkQueue {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(
    private readonly mostRunning: number,
    private readonly mostWaiting: number,
  ) {}

  /** @returns undefined when the queue is full: the job has not run and will not. */
  async run<T>(job: () => Promise<T>): Promise<T | undefined> {
    if (this.running < this.mostRunning) this.running++;
    else if (this.waiting.length < this.mostWaiting)
      await new Promise<void>((start) => this.waiting.push(start));
    else return undefined;
    try {
      return await job();
    } finally {
      const next = this.waiting.shift();
      if (next)
        next(); // takes this job's place
      else this.running--;
    }
  }
}
