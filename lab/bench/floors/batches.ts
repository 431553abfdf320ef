const BATCHES_IN_FLIGHT = 2;

interface Waiting<Item> {
  readonly item: Item;
  readonly resolve: (stored: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** Requests that arrive while two statements are under way share the next; no timer. */
export function inBatches<Item>(
  store: (items: readonly Item[]) => Promise<readonly boolean[]>,
): (item: Item) => Promise<boolean> {
  let waiting: Waiting<Item>[] = [];
  let inFlight = 0;

  async function next(): Promise<void> {
    if (inFlight === BATCHES_IN_FLIGHT || waiting.length === 0) return;
    const batch = waiting;
    waiting = [];
    inFlight++;
    try {
      const stored = await store(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, i) => resolve(stored[i]!));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    inFlight--;
    void next();
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      void next();
    });
}
