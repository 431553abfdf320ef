import { setTimeout as delay } from 'node:timers/promises';

/** As a statement may: a shutdown waits for the rest. */
const LONGEST_REST_MS = 1000;

/** Between two batches, as long as the last one took: so that requests have at least half of the database. */
export function restAfter(tookMs: number): Promise<void> {
  return delay(Math.min(tookMs, LONGEST_REST_MS));
}
