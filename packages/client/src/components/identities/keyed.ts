/**
 * Shows things by their keys. An element that stays is not touched: it keeps the focus, and a click that has begun.
 * @param onLost called if an element that is removed had the focus
 * @returns a function that removes the other elements, once the focus has another place
 */
export function showByKey<Shown>(
  into: HTMLElement,
  things: ReadonlyMap<string, Shown>,
  makeOne: (thing: Shown) => HTMLElement,
  onLost: () => void,
): () => void {
  const old = new Map(([...into.children] as HTMLElement[]).map((one) => [one.dataset['key']!, one]));
  let last: HTMLElement | undefined;
  for (const [key, thing] of things) {
    const element = old.get(key) ?? makeOne(thing);
    element.dataset['key'] = key;
    if (!old.delete(key)) {
      if (last) last.after(element);
      else into.prepend(element);
    }
    last = element;
  }
  return () => {
    for (const element of old.values()) {
      const hadFocus = element.contains((into.getRootNode() as ShadowRoot).activeElement);
      element.remove();
      if (hadFocus) onLost();
    }
  };
}
