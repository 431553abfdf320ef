import { setTimeout as delay } from 'node:timers/promises';

const LONGEST_MS = 60_000;

/**
 * Resolves once the condition holds; checks it again and again, and fails after a minute: a test must not hang.
 * @param what the condition in words, for the failure
 */
export async function until(holds: () => boolean | Promise<boolean>, what = holds.toString()): Promise<void> {
  const end = performance.now() + LONGEST_MS;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`never came true: ${what}`);
    await delay(10);
  }
}
