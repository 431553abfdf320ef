import { after } from './timer.js';

/** Longer than a request of another tab can take; seconds. */
const LONGEST_WAIT = 12;

/**
 * Does something in one tab of the browser at a time, where there are Web Locks. It waits with a bound: a tab may be
 * frozen while it holds the lock, and doing the work twice does no harm (spec §2.2: refreshing replaces nothing).
 */
export async function exclusive<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const { locks } = globalThis.navigator ?? {};
  if (!locks) return work();
  const waiting = new AbortController();
  const cancel = after(LONGEST_WAIT, () => waiting.abort());
  let result: Promise<Result> | undefined;
  try {
    await locks.request(name, { signal: waiting.signal }, () => {
      cancel();
      return (result = work());
    });
  } catch {
    // waited for long enough, or locks are forbidden here; or the work has failed, which is its caller's to hear
  }
  cancel();
  return result ?? work();
}
