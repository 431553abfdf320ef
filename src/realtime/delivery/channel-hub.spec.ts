import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { ChannelHistory } from '../../channel/channel.history.js';
import type { Settings } from '../../config/settings/settings.js';
import { Events } from '../../events.js';
import type { Fanout, FanoutListener } from '../fanout/fanout.js';
import type { Connection } from '../socket/connection.js';
import { ChannelHub } from './channel-hub.js';
import type { Delivery } from './delivery.js';
import { HistoryReads } from './user-channel.js';

describe('histories in doubt', () => {
  let asked: (readonly string[])[];
  let fails: boolean;
  let read: string[];
  let listener: FanoutListener;
  let hub: ChannelHub;
  let connections: Connection[];

  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    [asked, fails, read] = [[], false, []];
    const history = {
      async newest(users: readonly string[]) {
        asked.push(users);
        if (fails) throw new Error('away');
        return new Map(users.map((user) => [user, 7]));
      },
    } as ChannelHistory;
    const reads = {
      state: async () => ({ last: 0 }),
      async read(userId: string) {
        read.push(userId);
        return [{ offset: 7 }];
      },
    } as unknown as HistoryReads;
    const fanout = {
      listen: (given: FanoutListener) => (listener = given),
      subscribe: async () => undefined,
      unsubscribe: () => undefined,
    } as unknown as Fanout;
    hub = new ChannelHub(
      history,
      reads,
      { deliver: () => undefined } as unknown as Delivery,
      fanout,
      new Events(),
    );
    connections = Array.from(
      { length: 2500 },
      (_, i) =>
        ({
          session: { userId: `u${i}` },
          isOpen: true,
          expiresAt: 0,
          emit: () => undefined,
        }) as unknown as Connection,
    );
    await Promise.all(connections.map((connection) => hub.join(connection, undefined)));
  });
  afterEach(() => {
    hub.onApplicationShutdown();
    jest.useRealTimers();
  });
  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

  it('are compared in bulk, at once when notifications arrive again, and every 15 s', async () => {
    listener.onUp();
    await pass(0);
    expect(asked.map(({ length }) => length)).toEqual([1000, 1000, 500]);
    expect(read).toHaveLength(2500);
    await pass(16_000);
    expect(asked).toHaveLength(6);
  });

  it('are compared once a second, however many messages cause doubt', async () => {
    for (let i = 0; i < 30; i++) {
      listener.onDoubt('u1');
      listener.onDoubt('unknown');
      await pass(100);
    }
    expect(asked).toEqual([['u1'], ['u1'], ['u1']]);
    for (let i = 0; i < 1000; i++) listener.onDoubt();
    await pass(1000);
    expect(asked).toHaveLength(6);
  });

  it('are compared again after a failure, except of users who have left', async () => {
    fails = true;
    listener.onDoubt('u1');
    listener.onDoubt('u2');
    hub.leave(connections[1]!);
    await pass(1000);
    [fails, asked] = [false, []];
    await pass(5000);
    expect(asked).toEqual([['u2']]);
    expect(read).toEqual(['u2']);
  });
});

it('pages of histories are read with half of the pool, in turn, also when some fail', async () => {
  const open: { userId: string; end: (error?: Error) => void }[] = [];
  const read = (userId: string): Promise<never[]> =>
    new Promise((resolve, reject) =>
      open.push({ userId, end: (error) => (error ? reject(error) : resolve([])) }),
    );
  const reads = new HistoryReads({ read } as unknown as ChannelHistory, new Events(), {
    databasePoolSize: 4,
  } as Settings);
  const results = ['a', 'b', 'c', 'd', 'e'].map((userId) => reads.read(userId, 0, 100).catch(String));
  const order: string[] = [];
  while (open.length > 0) {
    expect(open.length).toBeLessThanOrEqual(2);
    const { userId, end } = open.shift()!;
    order.push(userId);
    end(userId === 'b' ? new Error('no') : undefined);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(order).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(await Promise.all(results)).toEqual([[], 'Error: no', [], [], []]);
});
