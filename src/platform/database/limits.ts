/** Calls that may wait: about as many as a process serves in a second. More would only use memory. */
export const MOST_WAITING = 10_000;

export class DatabaseBusy extends Error {
  override readonly name = 'DatabaseBusy';
  /** SQLSTATE insufficient_resources, for platform/errors/database-error.ts. */
  readonly code = '53000';
}

/** Runs at most `most` works at a time; later ones wait, in their order. */
export class ConcurrencyLimit {
  private readonly queue: (() => void)[] = [];
  private running = 0;

  constructor(private readonly most: number) {}

  get isReached(): boolean {
    return this.running >= this.most;
  }

  get isIdle(): boolean {
    return this.running === 0;
  }

  get waiting(): number {
    return this.queue.length;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (!this.isReached) this.running++;
    else await new Promise<void>((resume) => this.queue.push(resume));
    try {
      return await work();
    } finally {
      const next = this.queue.shift();
      if (next) next();
      else this.running--;
    }
  }
}

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

  /** @param began of the wait @throws DatabaseBusy if the wait is longer than LONGEST_WAIT_MS */
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

/** Costly reading of the database, made at most once in some time. */
export class CachedReading<T> {
  private latest: Promise<T> | undefined;
  private isOld = true;

  /** @param ms for which a reading counts, from its end */
  constructor(
    private readonly read: () => Promise<T>,
    private readonly ms: number,
  ) {}

  /** @throws what the reading throws; the next call reads again */
  get(): Promise<T> {
    if (this.latest && !this.isOld) return this.latest;
    this.isOld = false;
    const forget = (): void => void (this.isOld = true);
    this.latest = this.read();
    this.latest.then(() => setTimeout(forget, this.ms).unref(), forget);
    return this.latest;
  }
}
