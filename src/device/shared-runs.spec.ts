import { setImmediate as settled } from 'node:timers/promises';
import { SharedRuns } from './shared-runs.js';

it('one run of a key at a time; calls during it share the next one, which begins after them', async () => {
  const runs = new SharedRuns();
  const began: string[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const work = (name: string) => () => {
    began.push(name);
    return new Promise<void>((resolve, reject) => ends.push((error) => (error ? reject(error) : resolve())));
  };
  const call = (key: string, name: string) =>
    runs.share(key, work(name)).catch((error: Error) => error.message);
  const first = call('a', 'a1');
  const second = [call('a', 'a2'), call('a', 'a3')];
  const other = call('b', 'b1');
  await settled();
  expect(began).toEqual(['a1', 'b1']);
  ends.shift()!(new Error('failed'));
  expect(await first).toBe('failed'); // of this run only
  await settled();
  const third = call('a', 'a4');
  expect(began).toEqual(['a1', 'b1', 'a2']);
  while (ends.length > 0) {
    ends.shift()!();
    await settled();
  }
  expect(await Promise.all([...second, other, third])).toEqual(Array(4).fill(undefined));
  expect(began).toEqual(['a1', 'b1', 'a2', 'a4']);
  const later = call('a', 'a5'); // nothing is left of earlier runs
  expect(began.at(-1)).toBe('a5');
  ends.shift()!();
  await later;
});
