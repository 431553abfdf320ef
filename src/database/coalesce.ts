/** At most so many statements of one kind at a time: the third caller waits, and shares the next statement. */
const IN_FLIGHT = 2;
const LARGEST_BATCH = 256;

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/**
 * Makes one statement of what arrives together. A caller that comes alone is served at once and alone;
 * there is no timer, so nobody waits for company.
 *
 * @param run takes the items and returns their results, in the same order. If it fails, all its items fail.
 */
export function coalesce<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let inFlight = 0;

  async function start(batch: Waiting<Item, Result>[]): Promise<void> {
    inFlight++;
    try {
      const results = await run(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, i) => resolve(results[i]!));
    } catch (error) {
      batch.forEach(({ reject }) => reject(error));
    } finally {
      inFlight--;
      next();
    }
  }

  function next(): void {
    if (inFlight === IN_FLIGHT || waiting.length === 0) return;
    const batch = waiting.slice(0, LARGEST_BATCH);
    waiting = waiting.slice(LARGEST_BATCH);
    void start(batch);
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      next();
    });
}
