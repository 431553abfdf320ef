const claims = new WeakMap<Element, AbortController>();

/**
 * Claims an element for a call that shows something in it. The latest call counts: what an earlier one shows there is removed, or is
 * not shown any more. Calls end in any order, since Chromium settles concurrent imports of a module in any order.
 */
export function claim(place: Element): AbortController {
  claims.get(place)?.abort();
  const made = new AbortController();
  claims.set(place, made);
  return made;
}
