/** How many statements of one writer are under way: less than half of the default pool, so that requests find a connection. */
const AT_A_TIME = 4;
/** Failures after which the rest is left, where they are the most: not one node is away then, but the database. */
const MOST_FAILURES = 20;

/**
 * Does work for each of many items, a few at a time. On a Citus cluster a statement for one row goes to one node; one for rows
 * of many nodes asks all of them, and commits in two phases.
 *
 * @throws the first error; the other items are done all the same, unless most of them fail
 */
export async function forEachLimited<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const rest = items.values(); // shared: each item is taken once
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
  await Promise.all(Array.from({ length: AT_A_TIME }, lane));
  if (failures > 0) throw first;
}

/** @returns the items in their order, so many together at most */
export function chunks<Item>(items: readonly Item[], most: number): Item[][] {
  const count = Math.ceil(items.length / most);
  return Array.from({ length: count }, (_, i) => items.slice(i * most, (i + 1) * most));
}
