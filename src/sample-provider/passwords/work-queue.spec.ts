import { WorkQueue } from './work-queue.js';

/** Jobs that end when the test ends them, and the order in which they began. */
function makeJobs() {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const job = (name: string) => async (): Promise<string> => {
    started.push(name);
    await new Promise<void>((end) => ends.set(name, end));
    return name;
  };
  return { started, job, end: (name: string) => ends.get(name)!() };
}

describe('WorkQueue', () => {
  it('runs so many at once, lets so many wait in order, and refuses the rest', async () => {
    const queue = new WorkQueue(2, 2, 2);
    const { started, job, end } = makeJobs();
    const jobs = ['0', '1', '2', '3', '4'].map((name) => queue.run('one', job(name)));
    expect(await jobs[4]).toBeUndefined();
    expect(started).toEqual(['0', '1']);
    end('1');
    await jobs[1];
    expect(started).toEqual(['0', '1', '2']);
    end('0');
    await jobs[0];
    expect(started).toEqual(['0', '1', '2', '3']);
    end('2');
    end('3');
    expect(await Promise.all(jobs)).toEqual(['0', '1', '2', '3', undefined]);
  });

  it('lets callers take turns, and no caller fill it alone', async () => {
    const queue = new WorkQueue(1, 6, 4);
    const { started, job, end } = makeJobs();
    const asked = ['a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'b0', 'b1', 'c0'];
    const jobs = asked.map((name) => queue.run(name[0]!, job(name)));
    expect(await jobs[5]).toBeUndefined(); // more than its share
    expect(await jobs[8]).toBeUndefined(); // six wait
    for (let index = 0; index < 7; index++) {
      end(started[index]!);
      await jobs[asked.indexOf(started[index]!)];
    }
    expect(started).toEqual(['a0', 'a1', 'b0', 'a2', 'b1', 'a3', 'a4']);
    const again = ['c1', 'd1'].map((name) => queue.run(name[0]!, job(name))); // nothing is remembered of them
    end('c1');
    expect(await again[0]).toBe('c1');
    end('d1');
    expect(await again[1]).toBe('d1');
  });

  it('goes on after a job that fails', async () => {
    const queue = new WorkQueue(1, 0, 0);
    await expect(queue.run('one', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await queue.run('one', () => Promise.resolve('yes'))).toBe('yes');
  });
});
