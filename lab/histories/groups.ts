/** Adds to the list of a key. */
export function addTo<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const known = lists.get(key);
  if (known) known.push(item);
  else lists.set(key, [item]);
}

/** The place of the first that is not before something, in a list that is in order; by halves. */
export function placeAfter<Item>(all: readonly Item[], isBefore: (item: Item) => boolean): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(all[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low;
}
