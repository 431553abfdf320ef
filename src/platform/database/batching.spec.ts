import { jest } from '@jest/globals';
import { coalesce } from './batching.js';

/** Runs that end when the test ends them. */
function pausedRuns() {
  const batches: { items: number[]; end: () => void; fail: (error: Error) => void }[] = [];
  const run = (items: number[]): Promise<number[]> =>
    new Promise((resolve, reject) => {
      batches.push({ items, end: () => resolve(items.map((n) => n * 10)), fail: reject });
    });
  return { batches, add: coalesce(run) };
}

/** The end of a turn of the event loop: what was called in it has become a statement. */
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

// First, since timers of other tests, which are real, would count.
describe('a database that does not answer', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** Results, with the time to the last 100 ms. */
  function outcomes(results: Promise<number>[]): string[] {
    const began = performance.now();
    const seen = results.map(() => 'waiting');
    results.forEach((result, i) => {
      const after = (): string => `after ${Math.floor((performance.now() - began) / 100) * 100}`;
      result.then(
        (value) => (seen[i] = `${value} ${after()}`),
        (error: Error) => (seen[i] = `${error.name} ${after()}`),
      );
    });
    return seen;
  }

  /** Calls of different turns, so that none shares a statement while two may be under way. */
  async function oneEachTick(items: number[], add: (item: number) => Promise<number>) {
    const results: Promise<number>[] = [];
    for (const item of items) {
      const result = add(item);
      result.catch(() => undefined); // checked later
      results.push(result);
      await jest.advanceTimersByTimeAsync(0);
    }
    return results;
  }

  it('does not send expired calls, even if no timer has run', async () => {
    const { batches, add } = pausedRuns();
    const seen = outcomes(await oneEachTick([1, 2, 3], add));
    const now = performance.now() + 1601; // time has passed, and no timer has run
    const clock = jest.spyOn(performance, 'now').mockReturnValue(now);
    batches[0]!.end();
    await jest.advanceTimersByTimeAsync(0);
    expect(batches.map(({ items }) => items)).toEqual([[1], [2]]);
    expect(seen[2]).toContain('DatabaseBusy');
    clock.mockRestore();
  });

  it('does not retry expired calls of a failed batch', async () => {
    const { batches, add } = pausedRuns();
    const seen = outcomes([1, 2, 3, 4].map((n) => add(n)));
    await jest.advanceTimersByTimeAsync(1000);
    batches[0]!.fail(Object.assign(new Error('bad'), { code: '22003' }));
    await jest.advanceTimersByTimeAsync(0);
    expect(batches.map(({ items }) => items)).toEqual([
      [1, 2, 3, 4],
      [1, 2],
    ]);
    await jest.advanceTimersByTimeAsync(650);
    batches[1]!.end();
    await jest.advanceTimersByTimeAsync(0);
    expect(batches).toHaveLength(2);
    expect(new Set(seen)).toEqual(new Set(['DatabaseBusy after 1600']));
    outcomes(await oneEachTick([5, 6], add)); // both places are free again
    expect(batches.map(({ items }) => items).slice(2)).toEqual([[5], [6]]);
  });

  it('rejects each call after 1.6 s, in a statement or before it; a late result is dropped', async () => {
    const { batches, add } = pausedRuns();
    const seen = outcomes(await oneEachTick([1, 2, 3, 4], add));
    await jest.advanceTimersByTimeAsync(1300);
    const later = outcomes([add(5)]);
    batches[0]!.end();
    await jest.advanceTimersByTimeAsync(250);
    expect(seen).toEqual(['10 after 1300', 'waiting', 'waiting', 'waiting']);
    await jest.advanceTimersByTimeAsync(100);
    expect(seen).toEqual(['10 after 1300', ...Array<string>(3).fill('DatabaseBusy after 1600')]);
    batches[1]!.end();
    batches[2]!.end();
    await jest.advanceTimersByTimeAsync(0);
    expect(seen[1]).toBe('DatabaseBusy after 1600');
    expect(later).toEqual(['50 after 300']);
    expect(batches.map(({ items }) => items)).toEqual([[1], [2], [3, 4, 5]]);
    await jest.advanceTimersByTimeAsync(50);
    expect(jest.getTimerCount()).toBe(0); // no timer without calls
  });

  it('refuses new items at once when 10,000 wait', async () => {
    const { add } = pausedRuns();
    outcomes(await oneEachTick([1, 2], add));
    expect(jest.getTimerCount()).toBe(1); // one for all calls
    const seen = outcomes(Array.from({ length: 10_001 }, (_, n) => add(n)));
    await jest.advanceTimersByTimeAsync(0);
    expect(seen.filter((what) => what !== 'waiting')).toEqual(['DatabaseBusy after 0']);
    expect(seen.at(-1)).toBe('DatabaseBusy after 0');
    await jest.advanceTimersByTimeAsync(1700);
    const later = outcomes([add(1)]); // expired calls do not count
    await jest.advanceTimersByTimeAsync(0);
    expect(later).toEqual(['waiting']);
  });
});

describe('coalesce', () => {
  it('batches the calls of a turn; at most two statements at a time, and later calls share the next batch', async () => {
    const { batches, add } = pausedRuns();
    const results = [1, 2].map((n) => add(n));
    expect(batches).toEqual([]); // sent at the end of the turn
    await tick();
    results.push(...[3, 4].map((n) => add(n)));
    await tick();
    results.push(...[5, 6].map((n) => add(n)));
    await tick();
    results.push(add(7));
    await tick();
    expect(batches.map(({ items }) => items)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    batches[0]!.end();
    await tick();
    await tick();
    expect(batches.map(({ items }) => items).slice(2)).toEqual([[5, 6, 7]]);
    batches[1]!.end();
    batches[2]!.end();
    expect(await Promise.all(results)).toEqual([10, 20, 30, 40, 50, 60, 70]);
  });

  it('keeps batches below their largest size, and begins a second one only in the next turn', async () => {
    const { batches, add } = pausedRuns();
    const results = Array.from({ length: 600 }, (_, n) => add(n));
    await tick();
    expect(batches).toHaveLength(1);
    await tick();
    expect(batches).toHaveLength(2);
    for (let i = 0; i < batches.length; i++) {
      batches[i]!.end();
      await tick();
      await tick();
    }
    expect(batches.map(({ items }) => items.length)).toEqual([256, 256, 88]);
    expect(await Promise.all(results)).toEqual(Array.from({ length: 600 }, (_, n) => n * 10));
  });
});

describe('a statement that fails', () => {
  /** Fails if one of the items is bad. */
  function failingFor(bad: readonly number[], code: string) {
    const sent: number[][] = [];
    const add = coalesce(async (items: number[]) => {
      sent.push(items);
      await tick();
      if (items.some((item) => bad.includes(item))) throw Object.assign(new Error('bad'), { code });
      return items.map((n) => n * 10);
    });
    return { sent, add };
  }
  const range = (length: number): number[] => Array.from({ length }, (_, n) => n);
  const settle = async (results: Promise<number>[]): Promise<unknown[]> =>
    (await Promise.allSettled(results)).map((one) => (one.status === 'fulfilled' ? one.value : one.status));

  // test/database/statements.spec.ts has these errors of PostgreSQL itself.
  it.each(['22P05', '23505', '21000'])('because of a row (%s) rejects only the bad items', async (code) => {
    const { sent, add } = failingFor([17, 63], code);
    const expected = range(64).map((n) => (n === 17 || n === 63 ? 'rejected' : n * 10));
    expect(await settle(range(64).map(add))).toEqual(expected);
    // halves: the way down to the first, and to the second beside it
    expect(sent).toHaveLength(1 + 2 * (6 + 5));
  });

  it('for all of its items is retried twice for each item at most', async () => {
    const { sent, add } = failingFor(range(64), '22003');
    expect(new Set(await settle(range(64).map(add)))).toEqual(new Set(['rejected']));
    expect(sent).toHaveLength(2 * 64 - 1);
  });

  it.each(['08006', '57014', 'ECONNRESET'])('for another reason (%s) is not retried', async (code) => {
    const { sent, add } = failingFor([17], code);
    expect(new Set(await settle(range(64).map(add)))).toEqual(new Set(['rejected']));
    expect(sent).toHaveLength(1);
    expect(await add(1)).toBe(10); // the next one goes on
  });
});
