import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Background } from '../../platform/background.js';
import type { ChannelHistory } from '../../channel/channel.history.js';
import { Events } from '../../platform/events.js';
import type { Fanout, FanoutListener } from '../fanout/fanout.js';
import type { Admitted } from '../handshakes/handshake-queue.js';
import type { Connection } from '../socket/connection.js';
import { ChannelHub } from './channel-hub.js';

describe('histories in doubt', () => {
  let requested: (readonly string[])[];
  let fails: boolean;
  let read: string[];
  let listener: FanoutListener;
  let background: Background;
  let hub: ChannelHub;
  let connections: Connection[];

  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    [requested, fails, read] = [[], false, []];
    const history = {
      async newest(users: readonly string[]) {
        requested.push(users);
        if (fails) throw new Error('away');
        return new Map(users.map((user) => [user, 7]));
      },
      state: async () => ({ last: 0, at: new Date() }),
      async read(userId: string) {
        read.push(userId);
        return [{ offset: 7, data: null }];
      },
    } as unknown as ChannelHistory;
    background = new Background();
    const fanout = {
      listen: (one: FanoutListener) => (listener = one),
      subscribe: async () => undefined,
      unsubscribe: () => undefined,
    } as unknown as Fanout;
    hub = new ChannelHub(history, fanout, new Events(), background);
    connections = Array.from(
      { length: 2500 },
      (_, i) =>
        ({
          session: { userId: `u${i}` },
          isOpen: true,
          expiresAt: 0,
          emit: () => undefined,
          mayReceive: () => false,
        }) as unknown as Connection,
    );
    await Promise.all(
      connections.map((connection) =>
        hub.join(connection, { from: undefined, claims: { iat: 0 } } as Admitted),
      ),
    );
  });
  afterEach(() => {
    background.onApplicationShutdown();
    jest.useRealTimers();
  });
  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

  it('are compared in bulk, at once when notifications arrive again, and every 15 s', async () => {
    listener.onUp();
    await pass(0);
    expect(requested.map(({ length }) => length)).toEqual([1000, 1000, 500]);
    expect(read).toHaveLength(2500);
    await pass(16_000);
    expect(requested).toHaveLength(6);
  });

  it('are compared once a second, however many messages cause doubt', async () => {
    for (let i = 0; i < 30; i++) {
      listener.onDoubt('u1');
      listener.onDoubt('unknown');
      await pass(100);
    }
    expect(requested).toEqual([['u1'], ['u1'], ['u1']]);
    for (let i = 0; i < 1000; i++) listener.onDoubt();
    await pass(1000);
    expect(requested).toHaveLength(6);
  });

  it('are compared again after a failure, except of users who have left', async () => {
    fails = true;
    listener.onDoubt('u1');
    listener.onDoubt('u2');
    hub.leave(connections[1]!);
    await pass(1000);
    [fails, requested] = [false, []];
    await pass(5000);
    expect(requested).toEqual([['u2']]);
    expect(read).toEqual(['u2']);
  });
});
