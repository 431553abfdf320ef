import { coalesce } from './coalesce.js';

/** Runs that end when the test says so. */
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
  it('serves the first two alone and at once; whoever comes meanwhile shares the next', async () => {
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
