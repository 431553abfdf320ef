import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { jest } from '@jest/globals';
import { Admission } from './admission.js';
import type { Transport } from '../socket/transport.js';

const slowDown = expect.objectContaining({ error: 'slow_down', headers: { 'Retry-After': '5' } });
const JUDGED_AT_ONCE = 128;
const ignore = (): void => undefined;

describe('the queue of handshakes', () => {
  let queue: Admission;
  let now: number;
  beforeAll(() => Logger.overrideLogger(false)); // errors are expected here
  beforeEach(() => {
    now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    queue = new Admission();
  });
  afterEach(() => jest.restoreAllMocks());

  /** Asks for transports, one of each address. @returns what has begun, in its order */
  function ask(count: number, address = (i: number) => `192.0.${i >> 8}.${i & 255}`): number[] {
    const begun: number[] = [];
    for (let i = 0; i < count; i++) void queue.transport(address(i)).then(() => begun.push(i), ignore);
    return begun;
  }

  it('lets the first go on at once', async () => {
    const begun = ask(1);
    await Promise.resolve();
    expect(begun).toEqual([0]);
  });

  it('while more come in, begins one in 3 ms, so that turns are short; then eight a turn, in their order', async () => {
    const begun = ask(20);
    await nextTurn();
    expect(begun).toEqual([0]);
    now += 3;
    void queue.transport('198.51.100.1').catch(ignore);
    await nextTurn();
    expect(begun).toEqual([0, 1]);
    await nextTurn();
    expect(begun.slice(2)).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    await nextTurn();
    await nextTurn();
    expect(begun).toEqual([...Array(20).keys()]);
  });

  it('judges tokens before it makes transports, and begins nothing while 128 are judged', async () => {
    const judgements: (() => void)[] = [];
    let judged = 0;
    const judge = (): Promise<void> => {
      judged++;
      return new Promise((resolve) => judgements.push(resolve));
    };
    for (let i = 0; i < JUDGED_AT_ONCE + 1; i++) void queue.token(judge);
    const begun = ask(2);
    for (let i = 0; i < 30; i++) await nextTurn();
    expect([judged, begun]).toEqual([JUDGED_AT_ONCE, []]);
    judgements[0]!();
    for (let i = 0; i < 3; i++) await nextTurn();
    expect([judged, begun]).toEqual([JUDGED_AT_ONCE + 1, []]);
    judgements.forEach((end) => end());
    for (let i = 0; i < 3; i++) await nextTurn();
    expect(begun).toEqual([0, 1]);
  });

  it('judges a token that waits before a transport that comes just then', async () => {
    const order: string[] = [];
    ask(1);
    void queue.token(async () => order.push('token'));
    now += 1;
    void queue.transport('198.51.100.1').then(() => order.push('transport'));
    for (let i = 0; i < 5; i++) await nextTurn();
    expect(order).toEqual(['token', 'transport']);
  });

  it('goes on after a judgement that failed', async () => {
    const failing = () => Promise.reject(new Error('the database is away'));
    const all = Array.from({ length: JUDGED_AT_ONCE * 2 }, () => queue.token(failing));
    const results = await Promise.allSettled(all);
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    await queue.transport('192.0.2.1');
  });

  it('has room for 500 of an address, of an IPv6 /64, and for 20,000 in all', async () => {
    const refused = jest.fn();
    ask(1); // goes on at once; all others wait
    for (let i = 0; i < 500; i++) void queue.transport(`2001:db8::${i}`).catch(ignore);
    await expect(queue.transport('2001:db8::1:2:3:4')).rejects.toEqual(slowDown);
    void queue.transport('2001:db8:0:1::1').catch(ignore);
    ask(20_000 - 501);
    await expect(queue.transport('198.51.100.1')).rejects.toEqual(slowDown);
    for (let i = 0; i < 100; i++) await nextTurn(); // the first 500 go on
    queue.transport('2001:db8::1').catch(refused);
    await nextTurn();
    expect(refused).not.toHaveBeenCalled();
  });

  it('refuses whoever has waited for ten seconds', async () => {
    const blocked = Array.from({ length: JUDGED_AT_ONCE }, () =>
      queue.token(() => new Promise(() => undefined)),
    );
    expect(blocked).toHaveLength(JUDGED_AT_ONCE);
    for (let i = 0; i < 30; i++) await nextTurn();
    const waiting = queue.transport('192.0.2.1');
    now += 10_001;
    void queue.transport('192.0.2.2').catch(ignore);
    await expect(waiting).rejects.toEqual(slowDown);
  });

  it('refuses all when the service stops', async () => {
    ask(1);
    const waiting = queue.transport('192.0.2.1');
    queue.stop();
    const stopping = expect.objectContaining({ error: 'server_error', headers: { 'Retry-After': '1' } });
    await expect(waiting).rejects.toEqual(stopping);
    await expect(queue.transport('192.0.2.1')).rejects.toEqual(stopping);
  });
});

class FakeTransport extends EventEmitter {
  readonly closings: unknown[] = [];
  readonly transport = {};
  close(discard: boolean): void {
    this.closings.push(discard);
    this.emit('close');
  }
}

describe('the room where transports wait for admission', () => {
  let room: Admission;
  beforeAll(() => Logger.overrideLogger(false)); // errors are expected here
  beforeEach(() => {
    jest.useFakeTimers();
    room = new Admission();
  });
  afterEach(() => jest.useRealTimers());

  function enter(address: string | undefined): FakeTransport {
    const transport = new FakeTransport();
    room.enter(transport as unknown as Transport, address);
    return transport;
  }
  const leave = (transport: FakeTransport) => room.leave(transport as unknown as Transport);
  const ask = (address: string | undefined) => () => room.assertRoomFor(address);

  it('closes each for good after ten seconds, unless it was admitted', () => {
    const [admitted, gone, waiting] = [enter('192.0.2.1'), enter('192.0.2.1'), enter('192.0.2.1')];
    leave(admitted);
    gone.emit('close');
    jest.advanceTimersByTime(9999);
    expect(waiting.closings).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(waiting.closings).toEqual([true]); // true, to discard: it does not wait for a poll
    expect([...admitted.closings, ...gone.closings]).toEqual([]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('has room for 500 of an address, of an IPv6 /64, or of unknown address', () => {
    for (const address of ['192.0.2.1', '2001:db8::1', undefined]) {
      const [first] = Array.from({ length: 500 }, () => {
        ask(address)();
        return enter(address);
      });
      expect(ask(address)).toThrow(slowDown);
      leave(first!);
      leave(first!); // once is enough
      expect(ask(address)).not.toThrow();
      enter(address);
      expect(ask(address)).toThrow(slowDown);
    }
    expect(ask('2001:db8:0:0:ffff::2')).toThrow(slowDown);
    expect(ask('2001:db8:0:1::1')).not.toThrow();
    expect(ask('192.0.2.2')).not.toThrow();
  });

  it('has room for 5,000 in all', () => {
    const all = Array.from({ length: 5000 }, (_, i) => {
      const address = `192.0.2.${i % 100}`;
      ask(address)();
      return enter(address);
    });
    expect(ask('198.51.100.1')).toThrow(slowDown);
    expect(enter('198.51.100.1').closings).toEqual([true]); // it was judged before the last one came
    leave(all[0]!);
    expect(ask('198.51.100.1')).not.toThrow();
    jest.advanceTimersByTime(10_000);
    for (let i = 0; i < 500; i++) {
      ask('192.0.2.1')();
      enter('192.0.2.1');
    }
  });

  it('closes those that come in beyond that, since several handshakes may be judged at the same time', () => {
    for (let i = 0; i < 500; i++) expect(enter('192.0.2.1').closings).toEqual([]);
    expect(enter('192.0.2.1').closings).toEqual([true]);
    expect(ask('192.0.2.1')).toThrow(slowDown);
  });

  it('knows the address of each, and lets it show one token', () => {
    const [once, gone] = [enter('192.0.2.1'), enter('192.0.2.1')];
    const begin = (transport: FakeTransport) => () => room.beginAdmission(transport as unknown as Transport);
    leave(gone);
    expect(begin(once)()).toBe('192.0.2.1');
    const invalid = expect.objectContaining({ error: 'invalid_request' });
    expect(begin(once)).toThrow(invalid);
    expect(begin(gone)).toThrow(invalid);
  });
});
