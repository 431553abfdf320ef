import { WorkQueue } from './work-queue.js';

describe('WorkQueue', () => {
  it('runs so many at once, lets so many wait in order, and refuses the rest', async () => {
    const queue = new WorkQueue(2, 2);
    const started: number[] = [];
    const ends: (() => void)[] = [];
    const jobs = [0, 1, 2, 3, 4].map((n) =>
      queue.run(async () => {
        started.push(n);
        await new Promise<void>((end) => ends.push(end));
        return n;
      }),
    );
    expect(await jobs[4]).toBeUndefined();
    expect(started).toEqual([0, 1]);
    ends[1]!();
    await jobs[1];
    expect(started).toEqual([0, 1, 2]);
    ends[0]!();
    await jobs[0];
    expect(started).toEqual([0, 1, 2, 3]);
    ends[2]!();
    ends[3]!();
    expect(await Promise.all(jobs)).toEqual([0, 1, 2, 3, undefined]);
  });

  it('goes on after a job that fails', async () => {
    const queue = new WorkQueue(1, 0);
    await expect(queue.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await queue.run(() => Promise.resolve('yes'))).toBe('yes');
  });
});
