import { SharedRuns } from './shared-runs.js';

describe('SharedRuns', () => {
  it('runs one work of a key at a time, and shares work that has not begun', async () => {
    const runs = new SharedRuns<string>();
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const start = (key: string, kind?: string): Promise<string> =>
      runs.run(key, kind, () => {
        begun.push(`${key} ${kind}`);
        return new Promise((resolve) => ends.push(() => resolve(`${begun.length}`)));
      });
    const turn = (): Promise<unknown> => new Promise(setImmediate);
    const first = start('a', 'all');
    await turn();
    const next = [
      start('a', 'all'),
      start('a', 'all'),
      start('a', 'others'),
      start('a'),
      start('a'),
      start('b', 'all'),
    ];
    await turn();
    expect(begun).toEqual(['a all', 'b all']);
    expect(next[0]).toBe(next[1]);
    for (let i = 0; i < 6; i++) {
      ends[i]!();
      await turn();
    }
    expect(begun).toEqual(['a all', 'b all', 'a all', 'a others', 'a undefined', 'a undefined']);
    await Promise.all([first, ...next]);
  });

  it('goes on after a failure, which only its callers get', async () => {
    const runs = new SharedRuns<number>();
    const failed = runs.run('a', 'x', () => Promise.reject(new Error('away')));
    await expect(failed).rejects.toThrow('away');
    expect(await runs.run('a', 'x', () => Promise.resolve(1))).toBe(1);
  });
});
