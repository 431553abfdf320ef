import { setTimeout as delay } from 'node:timers/promises';
import type { View } from './browser.js';

/** Three engines in one test need one patience; milliseconds. */
const LONGEST = 10_000;

/** Tries again and again until there is a value; pages come and go meanwhile, so an error counts as none. */
export async function eventually<Value>(
  what: string,
  attempt: () => Promise<Value>,
): Promise<NonNullable<Value>> {
  const end = performance.now() + LONGEST;
  let last: unknown;
  for (;;) {
    try {
      const value = await attempt();
      if (value) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end) throw new Error(`never came true: ${what}`, { cause: last });
    await delay(25);
  }
}

/** Waits until an expression of the page is true. */
export function waitFor<Value>(view: View, expression: string): Promise<NonNullable<Value>> {
  return eventually(expression, () => view.evaluate<Value>(expression));
}
