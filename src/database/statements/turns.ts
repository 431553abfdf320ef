import { DatabaseBusy } from '../database-busy.js';
import { ConcurrencyLimit } from './concurrency-limit.js';

/** Longest wait for a turn. */
const LONGEST_WAIT_MS = 1000;

/** Runs one work for each key at a time: each that waits for a lock holds a connection. */
export class Turns {
  private readonly last = new Map<string, Promise<unknown>>();
  private readonly limit: ConcurrencyLimit;

  /** @param most works at a time, of all keys */
  constructor(
    private readonly busy: string,
    most = Infinity,
  ) {
    this.limit = new ConcurrencyLimit(most);
  }

  /** @param began when the caller began to wait @throws DatabaseBusy if the turn comes too late */
  async take<Result>(key: string, work: () => Promise<Result>, began = performance.now()): Promise<Result> {
    const turn = (this.last.get(key) ?? Promise.resolve()).then(() =>
      this.limit.run(() => {
        if (performance.now() - began > LONGEST_WAIT_MS) throw new DatabaseBusy(this.busy);
        return work();
      }),
    );
    const ended = turn.catch(() => undefined);
    this.last.set(key, ended);
    try {
      return await turn;
    } finally {
      if (this.last.get(key) === ended) this.last.delete(key);
    }
  }
}
