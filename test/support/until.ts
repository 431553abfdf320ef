import { setTimeout as delay } from 'node:timers/promises';

const LONGEST_MS = 30_000;

/** Resolves once the condition holds; checks it again and again, and fails after half a minute: a test must not hang. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + LONGEST_MS;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`never came true: ${holds.toString()}`);
    await delay(10);
  }
}
