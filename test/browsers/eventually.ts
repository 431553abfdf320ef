import { setTimeout as delay } from 'node:timers/promises';
import type { View } from './browser.js';

/** Milliseconds. */
const TIMEOUT = 10_000;

/** Retries until there is a truthy value. Pages may be replaced, so an error counts as no value. */
export async function eventually<Value>(
  what: string,
  attempt: () => Promise<Value>,
): Promise<NonNullable<Value>> {
  const end = performance.now() + TIMEOUT;
  let last: unknown;
  for (;;) {
    try {
      const value = await attempt();
      if (value) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end) throw new Error(`timed out: ${what}`, { cause: last });
    await delay(25);
  }
}

/** Waits until an expression of the page is true. */
export function waitFor<Value>(view: View, expression: string): Promise<NonNullable<Value>> {
  return eventually(expression, () => view.evaluate<Value>(expression));
}
