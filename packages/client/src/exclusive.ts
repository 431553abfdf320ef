import { after } from './timer.js';

/**
 * Seconds. The two of them are longer than a request of another tab takes. After a device has slept, everybody's timers are due at
 * once: in the second, which begins then, a tab whose request hung gives it up and lets go.
 */
const LONGEST_WAIT = 11;
const GRACE = 1;

/**
 * Does something in one tab of the browser at a time, where there are Web Locks. The wait is bounded: a tab may be
 * frozen while it holds the lock, and doing the work twice does no harm (spec §2.2: refreshing replaces nothing). Those
 * who have waited long enough overtake it one at a time, by a lock of their own, for which they wait as long at most.
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
  // The lock is requested twice, because only the first request shows whether another tab has it.
  const ask = (options: LockOptions): Promise<unknown> =>
    locks.request(name, options, (lock) => lock && (result = work(!!cancel)));
  try {
    await ask({ ifAvailable: true });
    if (!result) {
      cancel = after(LONGEST_WAIT, () => {
        cancel = after(GRACE, () => waiting.abort()); // without effect once we have the lock
      });
      await ask({ signal: waiting.signal });
    }
  } catch {
    // waited long enough, or locks are forbidden here; or the work has failed, which `result` tells the caller
  }
  cancel?.();
  if (!result && waiting.signal.aborted && !name.endsWith('!'))
    return exclusive(`${name}!`, () => work(true));
  return result ?? work(true);
}
