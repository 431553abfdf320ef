/** How many statements of one writer are under way: less than half of the default pool, so that requests find a connection. */
const AT_A_TIME = 4;

/**
 * Does work for each of many items, a few at a time. On a Citus cluster a statement for one row goes to one node; one for rows
 * of many nodes asks all of them, and commits in two phases.
 *
 * @throws the first error; the other items are done all the same
 */
export async function fewAtATime<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const rest = items.values(); // shared: each item is taken once
  const lanes = Array.from({ length: AT_A_TIME }, async () => {
    const errors: unknown[] = [];
    for (const item of rest) await work(item).catch((error: unknown) => errors.push(error));
    return errors;
  });
  const errors = (await Promise.all(lanes)).flat();
  if (errors.length > 0) throw errors[0];
}
