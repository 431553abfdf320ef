import { jest } from '@jest/globals';
import { exclusive } from './exclusive.js';

type Work = (lock: object | null) => Promise<unknown>;
type Options = { signal?: AbortSignal; ifAvailable?: boolean };
const LOCK = {};
let request: (name: string, options: Options, work: Work) => Promise<unknown>;

beforeEach(() => {
  jest.useFakeTimers();
  Object.defineProperty(globalThis, 'navigator', {
    configurable: true,
    value: { locks: { request: (...all: Parameters<typeof request>) => request(...all) } },
  });
});
afterEach(() => {
  jest.useRealTimers();
  Reflect.deleteProperty(globalThis, 'navigator');
});

it('does not wait for longer than 12 s for a tab that never lets go', async () => {
  request = lockManager();
  void exclusive('lock', () => new Promise(() => undefined));
  let done = 0;
  const working = exclusive('lock', async () => ++done);
  await jest.advanceTimersByTimeAsync(11_900);
  expect(done).toBe(0);
  await jest.advanceTimersByTimeAsync(200);
  expect(await working).toBe(1);
});

it('waits for one that hung until the device woke up, and lets go only then: all timers are due at once', async () => {
  const timers: (() => void)[] = [];
  const names: string[] = [];
  const locks = lockManager();
  request = (name, options, work) => locks(name, options, (lock) => (lock && names.push(name), work(lock)));
  const set = jest.spyOn(globalThis, 'setTimeout').mockImplementation((due) => {
    timers.unshift(due); // the last one first
    return 0 as never;
  });
  const hung = exclusive('lock', () => new Promise<void>((giveUp) => setTimeout(giveUp, 10_000)));
  const waiting = exclusive('lock', async () => undefined);
  while (timers.length < 2) await Promise.resolve();
  for (const due of timers.splice(0)) due();
  await Promise.all([hung, waiting]);
  expect(names).toEqual(['lock', 'lock']);
  set.mockRestore();
});

it('tabs that time out after 12 s run one at a time', async () => {
  request = lockManager();
  void exclusive('lock', () => new Promise(() => undefined)); // a tab that was frozen
  let [working, most] = [0, 0];
  const work = async (waited: boolean): Promise<boolean> => {
    most = Math.max(most, ++working);
    await new Promise((resolve) => setTimeout(resolve, 100));
    working--;
    return waited;
  };
  const three = [1, 2, 3].map(() => exclusive('lock', work));
  await jest.advanceTimersByTimeAsync(12_400);
  expect(await Promise.all(three)).toEqual([true, true, true]);
  expect(most).toBe(1);
});

it('does its work once, even if that fails', async () => {
  request = (_name, _options, work) => work(LOCK);
  let done = 0;
  const failing = exclusive('lock', async () => {
    done++;
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(done).toBe(1);
});

it('works where locks are missing or forbidden', async () => {
  request = async () => {
    throw new DOMException('no', 'SecurityError');
  };
  expect(await exclusive('lock', async () => 1)).toBe(1);
  Object.defineProperty(globalThis, 'navigator', { configurable: true, value: undefined });
  expect(await exclusive('lock', async () => 2)).toBe(2);
});

/** As browsers have it: one after the other by each name. Who does not want to wait gets none, and who gives up leaves the line. */
function lockManager(): typeof request {
  const lines = new Map<string, Promise<unknown>>();
  return async (name, { signal, ifAvailable }, work) => {
    const before = lines.get(name);
    if (before && ifAvailable) return work(null);
    const aborted = new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(new Error('aborted')));
    });
    const acquired = before ? Promise.race([before, aborted]) : Promise.resolve();
    const worked = acquired.then(() => work(LOCK));
    lines.set(
      name,
      worked.catch(() => before),
    );
    return worked;
  };
}
