import { DatabaseBusy } from '../database-busy.js';

/** Longest wait for a turn (contract §3). */
const LONGEST_WAIT_MS = 1000;

/** Runs one work for each key at a time: each that waits for a lock holds a connection. */
export class Turns {
  /** Last work of each key, until it has ended. */
  private readonly last = new Map<string, Promise<unknown>>();
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  /**
   * @param busy message of the error if the turn comes too late
   * @param most works at a time, of all keys
   */
  constructor(
    private readonly busy: string,
    private readonly most = Infinity,
  ) {}

  /**
   * @param began when the caller began to wait, by `performance.now()`
   * @throws DatabaseBusy if the turn comes too late
   */
  async take<Result>(key: string, work: () => Promise<Result>, began = performance.now()): Promise<Result> {
    const turn = (this.last.get(key) ?? Promise.resolve()).then(() => this.run(work, began));
    const ended = turn.catch(() => undefined);
    this.last.set(key, ended);
    try {
      return await turn;
    } finally {
      if (this.last.get(key) === ended) this.last.delete(key);
    }
  }

  private async run<Result>(work: () => Promise<Result>, began: number): Promise<Result> {
    if (this.running < this.most) this.running++;
    else await new Promise<void>((resume) => this.waiting.push(resume));
    try {
      if (performance.now() - began > LONGEST_WAIT_MS) throw new DatabaseBusy(this.busy);
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.running--;
    }
  }
}
