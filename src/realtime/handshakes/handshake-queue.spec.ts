import { EventEmitter } from 'node:events';
import { setImmediate as nextTick } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { jest } from '@jest/globals';
import { Events } from '../../platform/events.js';
import type { OpenFiles } from './open-files.js';
import type { RateLimits } from '../../platform/http/rate-limit.js';
import type { JwtGuard } from '../../token/guard/jwt.guard.js';
import type { Transport } from '../socket/transport.js';
import { HandshakeQueue } from './handshake-queue.js';

const slowDown = expect.objectContaining({ error: 'slow_down', headers: { 'Retry-After': '5' } });
const VERIFIED_AT_ONCE = 128;
const ignore = (): void => undefined;

class FakeTransport extends EventEmitter {
  readonly closings: unknown[] = [];
  readonly transport = {};
  close(discard: boolean): void {
    this.closings.push(discard);
    this.emit('close');
  }
}

let handshakes: HandshakeQueue;
let verify: () => Promise<unknown>;
beforeAll(() => Logger.overrideLogger(false));
beforeEach(() => {
  verify = async () => ({});
  handshakes = new HandshakeQueue(
    { admitHandshake: () => verify() } as unknown as JwtGuard,
    { count: async () => undefined } as unknown as RateLimits,
    { assertRoomForSocket: async () => undefined } as unknown as OpenFiles,
    new Events(),
  );
});

function enter(address?: string): FakeTransport {
  const transport = new FakeTransport();
  handshakes.enter(transport as unknown as Transport, address);
  return transport;
}
const leave = (transport: FakeTransport) => handshakes.leave(transport as unknown as Transport);
const admit = (transport: FakeTransport) =>
  handshakes.admit({ conn: transport, handshake: { auth: {} } } as unknown as Parameters<
    HandshakeQueue['admit']
  >[0]);
async function passTicks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await nextTick();
}

describe('queued handshakes', () => {
  let now: number;
  beforeEach(() => {
    now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => jest.restoreAllMocks());

  /** Begins handshakes, one of each address. @returns those that have continued, in their order */
  function begin(count: number, address = (i: number) => `192.0.${i >> 8}.${i & 255}`): number[] {
    const begun: number[] = [];
    for (let i = 0; i < count; i++) void handshakes.begin(address(i)).then(() => begun.push(i), ignore);
    return begun;
  }

  it('begin one in 3 ms while more arrive, so that turns are short; then eight a turn, in their order', async () => {
    const begun = begin(20);
    await passTicks(2);
    expect(begun).toEqual([0]);
    now += 3;
    void handshakes.begin('198.51.100.1').catch(ignore);
    await passTicks(1);
    expect(begun).toEqual([0, 1]);
    await passTicks(1);
    expect(begun.slice(2)).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    await passTicks(2);
    expect(begun).toEqual([...Array(20).keys()]);
  });

  it('wait while 128 tokens are verified, and continue after failed verifications', async () => {
    const ends: (() => void)[] = [];
    verify = () => new Promise((_, reject) => ends.push(() => reject(new Error('the database is away'))));
    const results = Array.from({ length: VERIFIED_AT_ONCE + 1 }, (_, i) => admit(enter(`10.0.0.${i}`)));
    const settled = Promise.allSettled(results);
    const begun = begin(2);
    await passTicks(30);
    expect([ends.length, begun]).toEqual([VERIFIED_AT_ONCE, []]);
    ends[0]!();
    await passTicks(3);
    expect([ends.length, begun]).toEqual([VERIFIED_AT_ONCE + 1, []]);
    ends.forEach((end) => end());
    await passTicks(3);
    expect(begun).toEqual([0, 1]);
    expect((await settled).every(({ status }) => status === 'rejected')).toBe(true);
  });

  it('are at most 500 of an address, of an IPv6 /64, and 20,000 in all', async () => {
    begin(500, (i) => `2001:db8::${i}`);
    await expect(handshakes.begin('2001:db8::1:2:3:4')).rejects.toEqual(slowDown);
    begin(20_000 - 500);
    await expect(handshakes.begin('198.51.100.1')).rejects.toEqual(slowDown);
    await passTicks(100); // the first 500 continue
    const refused = jest.fn();
    handshakes.begin('2001:db8::1').catch(refused);
    await passTicks(1);
    expect(refused).not.toHaveBeenCalled();
  });

  it('are refused after ten seconds', async () => {
    verify = () => new Promise(ignore);
    for (let i = 0; i < VERIFIED_AT_ONCE; i++) void admit(enter(`10.0.0.${i}`));
    const waiting = handshakes.begin('192.0.2.1');
    await passTicks(1);
    now += 10_001;
    void handshakes.begin('192.0.2.2').catch(ignore);
    await expect(waiting).rejects.toEqual(slowDown);
  });

  it('are refused when the service stops', async () => {
    begin(1);
    const waiting = handshakes.begin('192.0.2.1');
    await Promise.resolve();
    handshakes.stop();
    const stopping = expect.objectContaining({ error: 'server_error', headers: { 'Retry-After': '1' } });
    await expect(waiting).rejects.toEqual(stopping);
    await expect(handshakes.begin('192.0.2.1')).rejects.toEqual(stopping);
  });
});

describe('transports without a token', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());
  const refused = (address?: string) => expect(handshakes.begin(address)).rejects.toEqual(slowDown);

  it('are closed after ten seconds, unless they were admitted', () => {
    const [admitted, gone, waiting] = [enter('192.0.2.1'), enter('192.0.2.1'), enter('192.0.2.1')];
    leave(admitted);
    gone.emit('close');
    jest.advanceTimersByTime(9999);
    expect(waiting.closings).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(waiting.closings).toEqual([true]); // without waiting for a poll
    expect([...admitted.closings, ...gone.closings]).toEqual([]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('are at most 500 of an address, of an IPv6 /64, or of unknown address; further ones are closed', async () => {
    for (const address of ['192.0.2.1', '2001:db8::1', undefined]) {
      const [first] = Array.from({ length: 500 }, () => enter(address));
      await refused(address);
      expect(enter(address).closings).toEqual([true]); // its handshake was of the same turn
      leave(first!);
      leave(first!);
      expect(enter(address).closings).toEqual([]);
      await refused(address);
    }
    await refused('2001:db8:0:0:ffff::2');
    expect(enter('2001:db8:0:1::1').closings).toEqual([]);
  });

  it('are at most 5,000 in all', async () => {
    const all = Array.from({ length: 5000 }, (_, i) => enter(`192.0.2.${i % 100}`));
    await refused('198.51.100.1');
    expect(enter('198.51.100.1').closings).toEqual([true]);
    leave(all[0]!);
    expect(enter('198.51.100.1').closings).toEqual([]);
  });

  it('may send one token', async () => {
    const [one, gone] = [enter(), enter()];
    leave(gone);
    await admit(one);
    const invalid = expect.objectContaining({ error: 'invalid_request' });
    await expect(admit(one)).rejects.toEqual(invalid);
    await expect(admit(gone)).rejects.toEqual(invalid);
  });
});
