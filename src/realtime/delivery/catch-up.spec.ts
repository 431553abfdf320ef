import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { ChannelHistory } from '../../channel/channel.history.js';
import type { Settings } from '../../config/settings/settings.js';
import { Events } from '../../events.js';
import { CatchUp } from './catch-up.js';
import type { UserChannel } from './user-channel.js';
import { HistoryReads } from './user-channel.js';

describe('histories are compared in bulk', () => {
  let asked: (readonly string[])[];
  let fails: boolean;
  let reached: Map<string, number>;
  let channels: Map<string, UserChannel>;
  let catchUp: CatchUp;

  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    [asked, fails, reached, channels] = [[], false, new Map(), new Map()];
    const history = {
      async newest(users: readonly string[]) {
        asked.push(users);
        if (fails) throw new Error('away');
        return new Map(users.map((user) => [user, 7]));
      },
    };
    for (let i = 0; i < 2500; i++) {
      const reachesTo = (offset: number): void => void reached.set(`u${i}`, offset);
      channels.set(`u${i}`, { reachesTo } as unknown as UserChannel);
    }
    catchUp = new CatchUp(history, channels);
  });
  afterEach(() => jest.useRealTimers());
  const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms).then(() => undefined);

  it('a thousand users a statement, at once, and then once a second however much is in doubt', async () => {
    catchUp.everyone();
    await pass(0);
    expect(asked.map(({ length }) => length)).toEqual([1000, 1000, 500]);
    expect(reached.size).toBe(2500);
    for (let i = 0; i < 50; i++) {
      catchUp.user('u1');
      catchUp.user('unknown');
      await pass(100);
    }
    expect(asked.length).toBeGreaterThanOrEqual(3 + 4);
    expect(asked.length).toBeLessThanOrEqual(3 + 6);
    expect(asked.at(-1)).toEqual(['u1']);
  });

  it('doubt about everyone costs the same however many there are, and however often it comes', async () => {
    const keys = jest.spyOn(channels, 'keys');
    const has = jest.spyOn(channels, 'has');
    for (let i = 0; i < 1000; i++) catchUp.everyone();
    await pass(0);
    expect([keys.mock.calls.length, has.mock.calls.length]).toEqual([1, 0]);
    expect(reached.size).toBe(2500);
  });

  it('what could not be read is asked again, except for users who have left', async () => {
    fails = true;
    catchUp.user('u1');
    catchUp.user('u2');
    await pass(500);
    [fails, asked] = [false, []];
    channels.delete('u1');
    await pass(1000);
    expect(asked).toEqual([['u2']]);
    expect([...reached.keys()]).toEqual(['u2']);
    await pass(5000);
    expect(asked).toHaveLength(1);
  });
});

it('pages of histories are read a few at a time, in turn, also when some fail', async () => {
  const open: { userId: string; end: (error?: Error) => void }[] = [];
  const read = (userId: string): Promise<never[]> =>
    new Promise((resolve, reject) =>
      open.push({ userId, end: (error) => (error ? reject(error) : resolve([])) }),
    );
  const reads = new HistoryReads({ read } as unknown as ChannelHistory, new Events(), {
    databasePoolSize: 4,
  } as Settings);
  const results = ['a', 'b', 'c', 'd', 'e'].map((userId) => reads.read(userId, 0, 100).catch(String));
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const order: string[] = [];
  while (open.length > 0) {
    expect(open.length).toBeLessThanOrEqual(2);
    const { userId, end } = open.shift()!;
    order.push(userId);
    end(userId === 'b' ? new Error('no') : undefined);
    await settled();
  }
  expect(order).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(await Promise.all(results)).toEqual([[], 'Error: no', [], [], []]);
});
