import { EventEmitter } from 'node:events';
import { Logger } from '@nestjs/common';
import { jest } from '@jest/globals';
import type { Transport } from './transport.js';
import { WaitingRoom } from './waiting-room.js';

class FakeTransport extends EventEmitter {
  readonly closings: unknown[] = [];
  readonly transport = {};
  close(discard: boolean): void {
    this.closings.push(discard);
    this.emit('close');
  }
}

const slowDown = expect.objectContaining({ error: 'slow_down', headers: { 'Retry-After': '5' } });

describe('the room where transports wait for admission', () => {
  let room: WaitingRoom;
  beforeAll(() => Logger.overrideLogger(false)); // errors are expected here
  beforeEach(() => {
    jest.useFakeTimers();
    room = new WaitingRoom();
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
