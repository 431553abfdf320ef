import { jest } from '@jest/globals';
import { coalesce } from './coalesce.js';

/** Runs that end when the test ends them. */
function heldRuns() {
  const batches: { items: number[]; end: () => void; fail: (error: Error) => void }[] = [];
  const run = (items: number[]): Promise<number[]> =>
    new Promise((resolve, reject) => {
      batches.push({ items, end: () => resolve(items.map((n) => n * 10)), fail: reject });
    });
  return { batches, add: coalesce(run) };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('coalesce', () => {
  it('serves the first two alone and at once; those that come in the meantime share the next', async () => {
    const { batches, add } = heldRuns();
    const results = [1, 2, 3, 4, 5].map((n) => add(n));
    expect(batches.map(({ items }) => items)).toEqual([[1], [2]]);
    batches[0]!.end();
    await settled();
    expect(batches.map(({ items }) => items)).toEqual([[1], [2], [3, 4, 5]]);
    batches[1]!.end();
    batches[2]!.end();
    expect(await Promise.all(results)).toEqual([10, 20, 30, 40, 50]);
  });

  it('keeps batches below their largest size', async () => {
    const { batches, add } = heldRuns();
    const results = Array.from({ length: 600 }, (_, n) => add(n));
    for (let i = 0; i < batches.length; i++) {
      batches[i]!.end();
      await settled();
    }
    expect(batches.map(({ items }) => items.length)).toEqual([1, 1, 256, 256, 86]);
    expect(await Promise.all(results)).toEqual(Array.from({ length: 600 }, (_, n) => n * 10));
  });

  it('a statement that fails fails its own items only, and the next goes on', async () => {
    const { batches, add } = heldRuns();
    const [first, second, third] = [add(1), add(2), add(3)];
    batches[0]!.fail(new Error('away'));
    await expect(first).rejects.toThrow('away');
    await settled();
    batches[1]!.end();
    batches[2]!.end();
    expect(await Promise.all([second, third])).toEqual([20, 30]);
  });
});

describe('a database that does not answer', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** What became of each promise, and after how many ms. */
  function outcomes(results: Promise<number>[]): string[] {
    const began = performance.now();
    const seen = results.map(() => 'waiting');
    results.forEach((result, i) => {
      const after = (): string => `${Math.ceil((performance.now() - began) / 20) * 20}`;
      result.then(
        (value) => (seen[i] = `${value} after ${after()}`),
        (error: Error) => (seen[i] = `${error.name} after ${after()}`),
      );
    });
    return seen;
  }

  it('lets nobody wait longer than 1.6 s, in a statement or before it', async () => {
    const { batches, add } = heldRuns();
    const seen = outcomes(Array.from({ length: 600 }, (_, n) => add(n)));
    await jest.advanceTimersByTimeAsync(1500);
    expect(new Set(seen)).toEqual(new Set(['waiting']));
    await jest.advanceTimersByTimeAsync(150);
    expect(new Set(seen)).toEqual(new Set(['DatabaseBusy after 1600']));
    expect(batches).toHaveLength(2);
  });

  it('never sends what was given up, and serves those that came later', async () => {
    const { batches, add } = heldRuns();
    outcomes([add(1), add(2), add(3)]);
    await jest.advanceTimersByTimeAsync(1000);
    const later = outcomes([add(4)]);
    await jest.advanceTimersByTimeAsync(650);
    batches[0]!.end();
    await jest.advanceTimersByTimeAsync(0);
    expect(batches.map(({ items }) => items)).toEqual([[1], [2], [4]]);
    batches[2]!.end();
    await jest.advanceTimersByTimeAsync(0);
    expect(later).toEqual(['40 after 660']);
  });

  it('does not send what is late when the process itself was held up', async () => {
    const { batches, add } = heldRuns();
    const seen = outcomes([add(1), add(2), add(3)]);
    const now = performance.now() + 1601; // time has passed, and no timer has run
    const clock = jest.spyOn(performance, 'now').mockReturnValue(now);
    batches[0]!.end();
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    expect(batches.map(({ items }) => items)).toEqual([[1], [2]]);
    expect(seen[2]).toContain('DatabaseBusy');
    clock.mockRestore();
  });

  it('gives up items at their own time, even after they were sent; the statement’s result is dropped', async () => {
    const { batches, add } = heldRuns();
    const first = outcomes([add(1), add(2), add(3)]);
    await jest.advanceTimersByTimeAsync(1300);
    batches[0]!.end();
    await jest.advanceTimersByTimeAsync(350);
    expect(first).toEqual(['10 after 1300', 'DatabaseBusy after 1600', 'DatabaseBusy after 1600']);
    expect(batches.map(({ items }) => items)).toEqual([[1], [2], [3]]);
    batches[1]!.end();
    batches[2]!.end();
    await jest.advanceTimersByTimeAsync(0);
    expect(first[2]).toBe('DatabaseBusy after 1600');
    expect(jest.getTimerCount()).toBe(0); // nobody waits: nothing ticks
  });

  it('refuses new items at once when 10,000 wait', async () => {
    const { add } = heldRuns();
    const seen = outcomes(Array.from({ length: 10_003 }, (_, n) => add(n)));
    await jest.advanceTimersByTimeAsync(0);
    expect(seen.filter((what) => what !== 'waiting')).toEqual(['DatabaseBusy after 0']);
    expect(seen.at(-1)).toBe('DatabaseBusy after 0');
    await jest.advanceTimersByTimeAsync(1650);
    const later = outcomes([add(1)]); // those that were given up no longer wait
    await jest.advanceTimersByTimeAsync(0);
    expect(later).toEqual(['waiting']);
  });

  it('asks for one timer, however many come', () => {
    const { add } = heldRuns();
    outcomes(Array.from({ length: 1000 }, (_, n) => add(n)));
    expect(jest.getTimerCount()).toBe(1);
  });
});
