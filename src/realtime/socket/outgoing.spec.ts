import { once } from 'node:events';
import { createServer, type Server as HttpServer } from 'node:http';
import { connect, type AddressInfo, type Socket as TcpSocket } from 'node:net';
import { getDefaultHighWaterMark } from 'node:stream';
import { jest } from '@jest/globals';
import { Server, type Socket } from 'socket.io';
import { encode, send } from './connection.js';
import { closeSoon, toTransport } from './transport.js';
import { LimitedWebSocketServer } from './message-limits.js';

const UPGRADE = `GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r
Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r
Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`;
const CONNECT = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x34, 0x30]); // "40", masked with zeros

/** A frame of Socket.IO's own for `2["n",…,{"offset":1}]` has 4 + this many bytes besides the data's JSON. */
const AROUND = Buffer.byteLength('42["n",,{"offset":1}]');
const buffersIn = (value: unknown): unknown[] =>
  Buffer.isBuffer(value)
    ? [value]
    : Object.values(Object(value) === value ? (value as object) : {}).flatMap(buffersIn);

describe('what goes out', () => {
  let http: HttpServer;
  let server: Server;
  const endings: (() => void)[] = [];

  beforeAll(async () => {
    http = createServer();
    server = new Server(http, {
      wsEngine: LimitedWebSocketServer,
      perMessageDeflate: false,
      maxHttpBufferSize: 1e6,
    });
    await once(http.listen(0, '127.0.0.1'), 'listening');
  });
  afterEach(() => endings.splice(0).forEach((end) => end()));
  afterAll(() => server.close());

  const port = (): number => (http.address() as AddressInfo).port;
  const opened = async (): Promise<Socket> => ((await once(server, 'connection')) as [Socket])[0];

  /** A client that records every byte. */
  async function open(): Promise<{ socket: Socket; tcp: TcpSocket; bytes: () => Buffer }> {
    const chunks: Buffer[] = [];
    const tcp = connect(port(), '127.0.0.1');
    endings.push(() => tcp.destroy());
    tcp.on('data', (chunk) => chunks.push(chunk)).on('error', () => undefined);
    tcp.write(UPGRADE);
    await once(tcp, 'data');
    const opening = opened();
    tcp.write(CONNECT);
    const socket = await opening;
    while (!Buffer.concat(chunks).includes('40{')) await once(tcp, 'data');
    chunks.length = 0;
    return { socket, tcp, bytes: () => Buffer.concat(chunks) };
  }
  async function has(client: { tcp: TcpSocket; bytes: () => Buffer }, end: string): Promise<Buffer> {
    while (!client.bytes().includes(end)) await once(client.tcp, 'data');
    return client.bytes();
  }
  it.each([125, 126, 65_535, 65_536])('is to the byte what Socket.IO sends: %i bytes', async (length) => {
    const data = 'x'.repeat(length - AROUND - 2);
    const [theirs, ours] = [await open(), await open()];
    theirs.socket.emit('n', data, { offset: 1 });
    theirs.socket.emit('end');
    send(toTransport(ours.socket), encode(ours.socket, 'n', data, { offset: 1 }));
    send(toTransport(ours.socket), encode(ours.socket, 'end'));
    const expected = await has(theirs, '42["end"]');
    expect((await has(ours, '42["end"]')).equals(expected)).toBe(true);
  });

  it('is written straight to the connection where nothing waits, in one piece', async () => {
    const { socket, ...client } = await open();
    const writes: unknown[] = [];
    const transport = toTransport(socket);
    transport.on('packetCreate', (packet) => writes.push(packet));
    send(transport, encode(socket, 'n', 1));
    expect((await has(client, ']')).toString('latin1')).toBe('\x81\x0942["n",1]');
    expect(writes).toEqual([]); // Engine.IO was not called
  });

  it("and the answer to the upgrade goes out together with Engine.IO's first packet", async () => {
    const counts: jest.SpiedFunction<() => void>[] = [];
    http.prependOnceListener('upgrade', (_request, socket: TcpSocket) => {
      const writes = socket as unknown as Record<'_write' | '_writev', () => void>;
      counts.push(jest.spyOn(writes, '_write'), jest.spyOn(writes, '_writev'));
    });
    const tcp = connect(port(), '127.0.0.1');
    endings.push(() => tcp.destroy());
    tcp.write(UPGRADE);
    let text = '';
    while (!text.includes('0{"sid"')) text += String((await once(tcp, 'data'))[0]);
    expect(counts.map(({ mock }) => mock.calls.length)).toEqual([0, 1]);
  });

  it('tells a client of another protocol, before it hangs up, that it is not supported', async () => {
    const tcp = connect(port(), '127.0.0.1');
    tcp.on('error', () => undefined).write(UPGRADE.replace('EIO=4', 'EIO=3'));
    let text = '';
    tcp.on('data', (chunk) => (text += String(chunk)));
    await once(tcp, 'close');
    expect(text).toContain('Unsupported protocol version');
  });

  it('waits where it is counted, when a client does not read', async () => {
    const { socket, tcp, ...rest } = await open();
    tcp.pause();
    const transport = toTransport(socket);
    const data = 'x'.repeat(10_000);
    let sent = 0;
    while (transport.writeBuffer.length < 100) {
      if (sent === 3000) throw new Error('30 MB, and nothing waits');
      send(transport, encode(socket, 'n', sent++, data));
      if (sent % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    // What waits is the text that is counted, and not its frame as well.
    expect(transport.writeBuffer.flatMap((packet) => buffersIn(packet)).length).toBe(0);
    // What Engine.IO does not count: what the stream takes, and one frame; and the frame that Engine.IO has
    // given on.
    const { bufferedAmount } = transport.transport.socket as unknown as { bufferedAmount: number };
    expect(bufferedAmount).toBeLessThan(getDefaultHighWaterMark(false) + 3 * data.length);
    tcp.resume();
    send(transport, encode(socket, 'end'));
    const numbers = [
      ...(await has({ tcp, ...rest }, '["end"]')).toString('latin1').matchAll(/\["n",(\d+),/g),
    ];
    expect(numbers.map(([, n]) => Number(n))).toEqual(Array.from({ length: sent }, (_, n) => n));
  });

  it('is nothing after the farewell, and after the end', async () => {
    const { socket, tcp, bytes } = await open();
    const ended = once(tcp, 'end');
    const outgoing = encode(socket, 'late');
    socket.emit('farewell');
    closeSoon(toTransport(socket));
    send(toTransport(socket), outgoing);
    await ended;
    send(toTransport(socket), outgoing);
    expect(bytes().toString('latin1')).toMatch(/42\["farewell"\]\x88.{0,2}$/s);
  });
});
