import { after } from './timer.js';

/** Longer than a request of another tab can take; seconds. */
const LONGEST_WAIT = 12;

/**
 * Does something in one tab of the browser at a time, where there are Web Locks. It waits with a bound: a tab may be
 * frozen while it holds the lock, and doing the work twice does no harm (spec §2.2: refreshing replaces nothing).
 * @param work is told whether it had to wait for another tab
 */
export async function exclusive<Result>(
  name: string,
  work: (waited: boolean) => Promise<Result>,
): Promise<Result> {
  const { locks } = globalThis.navigator ?? {};
  if (!locks) return work(false);
  const waiting = new AbortController();
  let cancel: (() => void) | undefined;
  let result: Promise<Result> | undefined;
  // Asked for twice: only then is it known whether another tab has it.
  const ask = (options: LockOptions): Promise<unknown> =>
    locks.request(name, options, (lock) => lock && (result = work(!!cancel)));
  try {
    await ask({ ifAvailable: true });
    if (!result) {
      cancel = after(LONGEST_WAIT, () => waiting.abort()); // without effect on who has the lock by then
      await ask({ signal: waiting.signal });
    }
  } catch {
    // waited for long enough, or locks are forbidden here; or the work has failed, which is its caller's to hear
  }
  cancel?.();
  return result ?? work(true);
}
