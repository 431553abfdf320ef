import { EventEmitter } from 'node:events';
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Notifications } from '../database/notifications.js';
import type { ChannelEvent } from '../events.js';
import type { HintListener } from './hint-carrier.js';
import type { Reach } from './hint.js';
import { PostgresHints } from './postgres-hints.js';

const key = randomBytes(32);
const event = (offset: number | null, data: unknown = null): ChannelEvent => ({
  id: randomUUID(),
  userId: randomUUID(),
  deviceId: null,
  offset,
  event: 'n',
  data,
  sentAt: '2026-01-02T03:04:05.678Z',
});

/** Two instances on one channel that this test is. */
describe('hints that wait for their turn', () => {
  let sent: { message: string; done: (error?: Error) => void }[];
  let heard: (ChannelEvent | Reach)[];
  let doubts: number;
  let here: PostgresHints;
  let wire: EventEmitter;

  beforeEach(() => {
    [sent, heard, doubts, wire, closed] = [[], [], 0, new EventEmitter(), false];
    const notify = (message: string): Promise<void> =>
      new Promise((resolve, reject) =>
        sent.push({
          message,
          done: (error) => {
            if (error) return reject(error);
            wire.emit('message', message);
            resolve();
          },
        }),
      );
    here = new PostgresHints({ notify, close: () => (closed = true) } as unknown as Notifications, key);
    const there = new PostgresHints(wire as unknown as Notifications, key);
    there.listen({
      onEvent: (one) => heard.push(one),
      onReach: (reach) => heard.push(reach),
      onDoubt: () => doubts++,
    } as Partial<HintListener> as HintListener);
  });
  let closed: boolean;
  const next = async (): Promise<(typeof sent)[0]> => {
    while (sent.length === 0) await delay(1);
    return sent.shift()!;
  };

  it('what an instance hears of itself, it passes over: an event that is not kept would come twice', async () => {
    const both = new EventEmitter();
    const told: unknown[] = [];
    const notify = async (message: string): Promise<void> => void both.emit('message', message);
    const own = new PostgresHints(Object.assign(both, { notify }) as unknown as Notifications, key);
    own.listen({
      onEvent: (one: ChannelEvent) => told.push(one),
      onDoubt: () => told.push('doubt'),
    } as Partial<HintListener> as HintListener);
    both.on('message', (message: string) => wire.emit('message', message));
    const unkept = event(null);
    await own.send(unkept);
    expect([told, heard]).toEqual([[], [unkept]]);
  });

  it('one alone goes at once; those that come meanwhile share a message, a hundredth of a second later', async () => {
    const events = [1, 2, 3].map((offset) => event(offset));
    const began = performance.now(); // before the turn does: on a busy machine the first message may be late in it
    const first = here.send(events[0]!);
    const one = await next();
    const others = events.slice(1).map((other) => here.send(other));
    one.done();
    await first;
    const two = await next();
    expect(performance.now() - began).toBeGreaterThanOrEqual(9); // a timer of Node.js may be one early
    two.done();
    await Promise.all(others);
    expect([heard, doubts, sent]).toEqual([events, 0, []]);
  });

  it('no message is too long, however many hints of whatever size', async () => {
    const events = Array.from({ length: 500 }, (_, i) =>
      event(i % 5 ? i : null, 'ü'.repeat((i * 37) % 2000)),
    );
    const all = Promise.all(events.map((one) => here.send(one)));
    while (heard.length < events.length) {
      const { message, done } = await next();
      expect(Buffer.byteLength(message)).toBeLessThanOrEqual(7900);
      done();
    }
    await all;
    expect(heard.map(({ userId }) => userId)).toEqual(events.map(({ userId }) => userId));
  });

  it('of a message that was not sent each sender is told; the next ones go on', async () => {
    const [lost, other] = [here.send(event(1)), here.send(event(2))];
    (await next()).done(new Error('cut'));
    await expect(lost).rejects.toThrow('cut');
    (await next()).done();
    await other;
    expect(heard).toHaveLength(1);
  });

  it('no more than 10,000 wait behind the one on its way', async () => {
    const all = Array.from({ length: 10_002 }, (_, i) => here.send({ userId: randomUUID(), offset: i + 1 }));
    await expect(all.pop()).rejects.toThrow('too many');
    void Promise.allSettled(all);
  });

  it('what still waits is told before the connection ends', async () => {
    const all = [1, 2, 3].map((offset) => here.send(event(offset)));
    const ended = here.onApplicationShutdown();
    for (let told = 0; told < 2; told++) {
      const { done } = await next();
      expect(closed).toBe(false);
      done();
    }
    await Promise.all([...all, ended]);
    expect([heard.length, closed]).toEqual([3, true]);
  });

  it.each(['', 'nonsense', '{"seal":"', `{"seal":"${'A'.repeat(43)}","from":"x","hints":[]}`])(
    'what is not sealed is not believed: %s',
    (message) => {
      wire.emit('message', message);
      expect([heard, doubts]).toEqual([[], 1]);
    },
  );
});
