import { DatabaseBusy } from './database-busy.js';
import { ConcurrencyLimit } from './concurrency-limit.js';

/** Longest wait for the work before. */
const LONGEST_WAIT_MS = 1000;

/** Runs one work for each key at a time: each that waits for a lock holds a connection. */
export class OneAtATime {
  private readonly last = new Map<string, Promise<unknown>>();
  private readonly limit: ConcurrencyLimit;

  /** @param most works at a time, of all keys */
  constructor(
    private readonly busy: string,
    most = Infinity,
  ) {
    this.limit = new ConcurrencyLimit(most);
  }

  /** @param began when the caller began to wait @throws DatabaseBusy if the wait is longer than LONGEST_WAIT_MS */
  async run<Result>(key: string, work: () => Promise<Result>, began = performance.now()): Promise<Result> {
    const result = (this.last.get(key) ?? Promise.resolve()).then(() =>
      this.limit.run(() => {
        if (performance.now() - began > LONGEST_WAIT_MS) throw new DatabaseBusy(this.busy);
        return work();
      }),
    );
    const ended = result.catch(() => undefined);
    this.last.set(key, ended);
    try {
      return await result;
    } finally {
      if (this.last.get(key) === ended) this.last.delete(key);
    }
  }
}
