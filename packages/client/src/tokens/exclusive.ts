import { after } from '../service/timer.js';

/**
 * Seconds; their sum is longer than a request of another tab. Two timers, because a sleep makes all timers due at once: during the
 * second one, a tab with a hanging request gives up and releases the lock.
 */
const WAIT = 11;
const GRACE = 1;

/**
 * Runs work in one tab of the browser at a time, by Web Locks. The wait is bounded, since a frozen tab keeps its lock, and a
 * second refresh replaces nothing (spec §2.2). Tabs that time out queue for a second lock, so that they do not run at once.
 * @param work gets whether another tab held the lock
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
  const request = (options: LockOptions): Promise<unknown> =>
    locks.request(name, options, (lock) => lock && (result = work(!!cancel)));
  try {
    await request({ ifAvailable: true }); // shows whether another tab has the lock
    if (!result) {
      cancel = after(WAIT, () => {
        cancel = after(GRACE, () => waiting.abort()); // no effect once the lock is held
      });
      await request({ signal: waiting.signal });
    }
  } catch {
    // timed out, or locks are forbidden here; a failure of the work is in `result`
  }
  cancel?.();
  if (!result && waiting.signal.aborted && !name.endsWith('!'))
    return exclusive(`${name}!`, () => work(true));
  return result ?? work(true);
}
