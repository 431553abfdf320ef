import { jest } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../../test/support/waiting.js';
import { EventStream, eventText } from './event-stream.js';

const MIB = 1024 * 1024;
const CHUNK = eventText('x', { text: 'y'.repeat(64 * 1024) });

describe('EventStream', () => {
  const server = createServer();
  const sockets: Socket[] = [];

  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => sockets.splice(0).forEach((socket) => socket.destroy()));
  afterAll(() => server.close());

  async function open(): Promise<{ stream: EventStream; response: ServerResponse; socket: Socket }> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
    const stream = new EventStream(response);
    stream.begin();
    return { stream, response, socket };
  }
  /** Sends until the kernel takes no more. */
  async function fill({ stream, response }: Awaited<ReturnType<typeof open>>): Promise<void> {
    for (; response.writableLength === 0; await delay(1)) stream.send(CHUNK);
  }

  it('closes a reader with 1 MiB unread', async () => {
    const reader = await open();
    reader.socket.pause();
    await fill(reader);
    let most = 0;
    for (let left = 100; reader.stream.isOpen && left > 0; left--) {
      most = Math.max(most, reader.response.writableLength);
      reader.stream.send(CHUNK);
    }
    expect(reader.stream.isOpen).toBe(false);
    expect(most).toBeGreaterThan(MIB - 2 * CHUNK.length);
    expect(most).toBeLessThanOrEqual(MIB);
  });

  it('does not write a text over the limit, which would copy it for each reader', async () => {
    const reader = await open();
    const write = jest.spyOn(reader.response, 'write');
    reader.stream.send(CHUNK.repeat(20));
    expect([reader.stream.isOpen, write.mock.calls.length]).toEqual([false, 0]);
  });

  it('closes a reader that reads nothing for a minute, but not one that has read all', async () => {
    server.timeout = 200; // in place of a minute (express.adapter.ts)
    const [slow, idle] = [await open(), await open()];
    server.timeout = 0;
    slow.socket.pause();
    idle.socket.resume();
    await fill(slow);
    await until(() => !slow.stream.isOpen);
    await delay(300);
    expect(idle.stream.isOpen).toBe(true);
    idle.stream.send(CHUNK);
    expect(idle.stream.isOpen).toBe(true);
  });

  it('waits for a slow reader, and not for one that has disconnected', async () => {
    const [slow, gone] = [await open(), await open()];
    for (const reader of [slow, gone]) {
      reader.socket.pause();
      await fill(reader);
    }
    const order: string[] = [];
    const waits = [
      slow.stream.drained().then(() => order.push('read')),
      gone.stream.drained().then(() => order.push('gone')),
    ];
    gone.socket.resetAndDestroy();
    await waits[1];
    slow.socket.resume();
    await Promise.all(waits);
    expect(order).toEqual(['gone', 'read']);
    expect([slow.stream.isOpen, gone.stream.isOpen]).toEqual([true, false]);
    gone.stream.send(CHUNK); // throws nothing
    await gone.stream.drained();
  });

  it('ends in order for a reader, and by a timeout for one that does not read', async () => {
    const [reader, slow] = [await open(), await open()];
    let text = '';
    reader.socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    slow.socket.pause();
    await fill(slow);
    reader.stream.send(CHUNK);
    const closed = once(slow.response, 'close');
    for (const { stream } of [reader, slow]) stream.end();
    await closed;
    await until(() => text.endsWith('\r\n0\r\n\r\n'));
    expect(text).toContain(CHUNK);
  });
});
