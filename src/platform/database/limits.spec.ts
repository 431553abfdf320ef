import { setImmediate as tick } from 'node:timers/promises';
import { DatabaseBusy, OneAtATime } from './limits.js';

it('works run one of a key at a time, and no more than allowed of all keys; late ones are refused, and block none', async () => {
  const queue = new OneAtATime('busy', 2);
  const running: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => () => {
    running.push(name);
    return new Promise<string>((resolve) => ends.push(() => resolve(name)));
  };
  const now = performance.now();
  const all = [
    queue.run('a', work('a1')),
    queue.run('a', work('a2')),
    queue.run('b', work('b')),
    queue.run('c', work('late'), now - 2000).catch((error: unknown) => error),
    queue.run('d', () => Promise.reject(new Error('no'))).catch(String),
    queue.run('e', work('e')),
  ];
  await tick();
  expect(running).toEqual(['a1', 'b']);
  ends.shift()!();
  await tick();
  expect(running).toEqual(['a1', 'b', 'e']); // a2 waits behind it
  ends.shift()!();
  await tick();
  expect(running).toEqual(['a1', 'b', 'e', 'a2']);
  for (const end of ends) end();
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'b', expect.any(DatabaseBusy), 'Error: no', 'e']);
});
