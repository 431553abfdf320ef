/** Concurrent statements of one writer: less than half of the default pool, so that requests find a connection. */
const LIMIT = 4;
/** So many failures, if they outnumber the successes, end the work: the whole database is unreachable, not one node. */
const MOST_FAILURES = 20;

/**
 * Works on each item, with at most LIMIT at a time. On Citus, a statement for rows of many nodes commits in two phases; one for a
 * single row needs one node.
 * @throws the first error, after the other items, unless most of them fail
 */
export async function forEachLimited<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const rest = items.values();
  let [done, failures] = [0, 0];
  let first: unknown;
  const lane = async (): Promise<void> => {
    for (const item of rest) {
      try {
        await work(item);
        done++;
      } catch (error) {
        first ??= error;
        if (++failures >= MOST_FAILURES && failures > done) return;
      }
    }
  };
  await Promise.all(Array.from({ length: LIMIT }, lane));
  if (failures > 0) throw first;
}

/** Runs at most `most` works at a time; later ones wait, in their order. */
export class ConcurrencyLimit {
  private readonly queue: (() => void)[] = [];
  private running = 0;

  constructor(private readonly most: number) {}

  get isReached(): boolean {
    return this.running >= this.most;
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

export function chunks<Item>(items: readonly Item[], most: number): Item[][] {
  const count = Math.ceil(items.length / most);
  return Array.from({ length: count }, (_, i) => items.slice(i * most, (i + 1) * most));
}
