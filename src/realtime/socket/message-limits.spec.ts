import { EventEmitter } from 'node:events';
import { jest } from '@jest/globals';
import type { Server } from 'socket.io';
import type { WebSocket } from 'ws';
import { countFrames, limitMessages } from './message-limits.js';

class FakeWebSocket extends EventEmitter {
  terminated = 0;
  paused = false;
  /** Unread PONGs; `read` reports that the client has read. */
  readonly pongs: { data: string; read: () => void }[] = [];
  terminate(): void {
    this.terminated++;
  }
  pause(): void {
    this.paused = true;
  }
  pong(data: Buffer, _mask: boolean, read: () => void): void {
    this.pongs.push({ data: data.toString(), read });
  }
}

class FakeTransport extends EventEmitter {
  writeBuffer: object[] = [];
  constructor(public transport: { socket?: FakeWebSocket }) {
    super();
  }
}

const BURST = 50;

describe('what clients may send', () => {
  const engine = new EventEmitter();
  let exceeded: unknown[];
  limitMessages({ engine } as unknown as Server, (transport) => exceeded.push(transport));
  beforeEach(() => {
    exceeded = [];
    jest.spyOn(performance, 'now').mockReturnValue(0); // the bucket fills up again with time
  });
  afterEach(() => void jest.restoreAllMocks());

  function webSocket(): FakeWebSocket {
    const socket = new FakeWebSocket();
    countFrames(socket as unknown as WebSocket);
    return socket;
  }
  function connect(socket?: FakeWebSocket): FakeTransport {
    const transport = new FakeTransport(socket ? { socket } : {});
    engine.emit('connection', transport);
    return transport;
  }
  const times = (count: number, emitter: EventEmitter, event: string) => {
    for (let i = 0; i < count; i++) emitter.emit(event, Buffer.from(String(i)));
  };

  it('a WebSocket: messages and control frames share one bucket; when it is empty, nothing more is read', () => {
    const socket = webSocket();
    const transport = connect(socket);
    times(20, socket, 'message');
    times(20, socket, 'ping');
    times(10, socket, 'pong');
    expect([exceeded, socket.paused]).toEqual([[], false]);
    times(1, socket, 'ping');
    expect(exceeded).toEqual([transport]);
    expect([socket.paused, socket.terminated]).toEqual([true, 0]);
  });

  it('long polling: packets; after an upgrade, the WebSocket uses the same bucket', () => {
    const transport = connect();
    times(BURST - 2, transport, 'packet');
    const socket = webSocket();
    transport.emit('upgrading', { socket });
    times(1, socket, 'message');
    transport.transport = { socket };
    times(1, socket, 'message');
    times(1, transport, 'packet'); // the same message again, as Engine.IO sees it
    expect(exceeded).toEqual([]);
    times(1, socket, 'message');
    expect(exceeded).toEqual([transport]);
  });

  it('a WebSocket without a connection to count for it: it is cut off', () => {
    const socket = webSocket();
    times(BURST, socket, 'ping');
    expect(socket.terminated).toBe(0);
    times(1, socket, 'ping');
    expect(socket.terminated).toBe(1);
  });

  it('a client that sends but does not read the answers is ended, however slowly it sends', () => {
    const socket = webSocket();
    const transport = connect(socket);
    transport.writeBuffer = Array.from({ length: 999 }, () => ({}));
    times(1, socket, 'message');
    expect(exceeded).toEqual([]);
    transport.writeBuffer.push({});
    times(1, socket, 'message');
    expect(exceeded).toEqual([transport]);
  });

  it('one PONG waits to be read, and no more; the next one answers the latest PING', () => {
    const socket = webSocket();
    connect(socket);
    const waiting = () => socket.pongs.map(({ data }) => data);
    times(30, socket, 'ping');
    expect(waiting()).toEqual(['0']);
    socket.pongs[0]!.read();
    expect(waiting()).toEqual(['0', '29']);
    socket.pongs[1]!.read();
    expect(waiting()).toEqual(['0', '29']);
    times(1, socket, 'ping');
    expect(waiting()).toEqual(['0', '29', '0']);
  });
});
