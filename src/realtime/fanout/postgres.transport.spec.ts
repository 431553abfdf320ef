import { EventEmitter } from 'node:events';
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { LatestOffset, Notification } from './notification.js';
import type { PostgresListener } from './postgres-listener.js';
import { PostgresTransport } from './postgres.transport.js';
import type { FanoutListener } from './fanout.js';

const key = randomBytes(32);
const latest = (offset: number): LatestOffset => ({ userId: randomUUID(), offset });
const transient = (data: unknown = null): Notification => ({
  to: [[randomUUID(), randomUUID()]],
  deviceId: null,
  offset: null,
  event: 'n',
  data,
  sentAt: '2026-01-02T03:04:05.678Z',
});

/** Two instances on one channel, which is this test. */
describe('notifications that wait for their turn', () => {
  let sent: { message: string; done: (error?: Error) => void }[];
  let received: Notification[];
  let doubts: number;
  let here: PostgresTransport;
  let wire: EventEmitter;

  beforeEach(() => {
    [sent, received, doubts, wire] = [[], [], 0, new EventEmitter()];
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
    here = new PostgresTransport({ notify } as unknown as PostgresListener, key);
    const there = new PostgresTransport(wire as unknown as PostgresListener, key);
    there.listen({
      onNotification: (one: Notification) => received.push(one),
      onDoubt: () => doubts++,
    } as Partial<FanoutListener> as FanoutListener);
  });
  const next = async (): Promise<(typeof sent)[0]> => {
    while (sent.length === 0) await delay(1);
    return sent.shift()!;
  };

  it('one alone goes at once; those that come meanwhile share a message, a hundredth of a second later', async () => {
    const events = [1, 2, 3].map(latest);
    // before the turn does: on a busy machine the first message may be late in it
    const began = performance.now();
    const first = here.send(events[0]!);
    const one = await next();
    const others = events.slice(1).map((other) => here.send(other));
    one.done();
    await first;
    const two = await next();
    expect(performance.now() - began).toBeGreaterThanOrEqual(9); // a timer of Node.js may be one early
    two.done();
    await Promise.all(others);
    expect([received, doubts, sent]).toEqual([events, 0, []]);
  });

  it('no message is too long, for any number of notifications of any size', async () => {
    const events = Array.from({ length: 500 }, (_, i) =>
      i % 5 ? latest(i) : transient('ü'.repeat((i * 37) % 2000)),
    );
    const all = Promise.all(events.map((one) => here.send(one)));
    while (received.length < events.length) {
      const { message, done } = await next();
      expect(Buffer.byteLength(message)).toBeLessThanOrEqual(7900);
      done();
    }
    await all;
    expect(received).toEqual(events);
  });

  it('a message that was not sent is an error for each of its senders; the next ones are sent', async () => {
    const lost = here.send(latest(1));
    const first = await next();
    const other = here.send(latest(2));
    first.done(new Error('cut'));
    await expect(lost).rejects.toThrow('cut');
    (await next()).done();
    await other;
    expect(received).toHaveLength(1);
  });

  it('no more than 10,000 wait behind the one on its way', async () => {
    const all = Array.from({ length: 10_002 }, (_, i) => here.send(latest(i + 1)));
    await expect(all.pop()).rejects.toThrow('too many');
    void Promise.allSettled(all);
  });
});
