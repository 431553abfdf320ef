import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { Cluster } from '../support/cluster.js';
import { RawSocket } from '../support/socket-client.js';
import { signIn } from '../support/sign-in.js';
import { Witness, report } from './attack.js';
import { prepare, use } from '../support/use.js';

const FLOODERS = 4;
const MIB = 1024 * 1024;
/** Each attacker stops after that: without a limit it would cost the service several times as much memory. */
const MOST = 48 * MIB;
/** Bytes that loopback accepts without a reader: the kernel's buffers of both sides. */
const IN_FLIGHT = 16 * MIB;

const CHUNK = 64 * 1024;

/** Frames of a client (RFC 6455 §5.2), with a mask of zeros. @param head FIN and opcode */
function frame(head: number, payload: string | Buffer = ''): Buffer {
  const data = Buffer.from(payload);
  const length =
    data.length < 126 ? [0x80 | data.length] : [0x80 | 126, data.length >> 8, data.length & 0xff];
  return Buffer.concat([Buffer.from([head, ...length, 0, 0, 0, 0]), data]);
}

const TEXT = 0x81;
const FIRST_FRAGMENT = 0x01;
const FRAGMENT = 0x00;
const PING = 0x89;
const PONG = 0x8a;

/** A WebSocket below every library: sends frames as fast as they are accepted, and no longer reads anything. */
class FrameFlood {
  private constructor(private readonly socket: Socket) {
    socket.on('error', () => undefined);
  }

  /** @param token sent first, if the flood should come from a client that was admitted */
  static async open(url: string, token?: string): Promise<FrameFlood> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    const flood = new FrameFlood(socket);
    socket.write(
      `GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: ${hostname}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
    );
    await flood.reads('"sid"');
    if (token !== undefined) {
      socket.write(frame(TEXT, `40${JSON.stringify({ token })}`));
      await flood.reads('"ready"');
    }
    socket.removeAllListeners('data').pause();
    return flood;
  }

  /**
   * Sends a frame again and again until it is cut off.
   * @param first sent once before
   * @param most bytes after which it gives up
   * @returns bytes that were taken, by the service or on the way to it, and whether it was cut off
   */
  async send(repeated: Buffer, most: number, first?: Buffer): Promise<{ sent: number; cut: boolean }> {
    const { socket } = this;
    const before = socket.bytesWritten;
    const chunk = Buffer.concat(Array<Buffer>(Math.ceil(CHUNK / repeated.length)).fill(repeated));
    const sent = (): number => socket.bytesWritten - socket.writableLength - before;
    if (first) socket.write(first);
    while (!socket.destroyed && sent() < most) {
      if (socket.write(chunk)) await new Promise((resolve) => setImmediate(resolve));
      else await new Promise<void>((resolve) => socket.once('drain', resolve).once('close', () => resolve()));
    }
    const result = { sent: Math.max(0, sent()), cut: socket.destroyed };
    socket.destroy();
    return result;
  }

  private async reads(text: string): Promise<void> {
    let seen = '';
    await new Promise<void>((resolve, reject) => {
      this.socket.once('close', () => reject(new Error(`closed after ${seen}`)));
      this.socket.on('data', (data: Buffer) => {
        seen += data.toString('latin1');
        if (seen.includes(text)) resolve();
      });
    });
    this.socket.removeAllListeners('data').removeAllListeners('close');
  }
}

/**
 * WebSocket control frames from clients that do not read: PINGs were answered without limit, and the answers were kept
 * (133 MiB of one connection, without a token, took 1.26 GiB in 11 s).
 */
describe('a flood of control frames', () => {
  const cluster = use(() => Cluster.create());
  const service = prepare(() => cluster.start());
  const tokens = prepare(() => signIn(service.url));

  const LARGE = 'x'.repeat(125);
  const kinds: [string, Buffer, Buffer | undefined][] = [
    ['PINGs', frame(PING, LARGE), undefined],
    ['PINGs without anything', frame(PING), undefined],
    ['PONGs', frame(PONG, LARGE), undefined],
    ['empty messages', frame(TEXT), undefined],
    ['answers to heartbeats', frame(TEXT, '3'), undefined],
    ['heartbeats', frame(TEXT, '2'), undefined],
    ['empty fragments of one message', frame(FRAGMENT), frame(FIRST_FRAGMENT)],
    ['small fragments of one message', frame(FRAGMENT, 'x'), frame(FIRST_FRAGMENT, '42')],
    ['PINGs between fragments', Buffer.concat([frame(FRAGMENT), frame(PING, LARGE)]), frame(FIRST_FRAGMENT)],
  ];
  describe.each([
    ['before admission', () => undefined, kinds],
    ['with a token', () => tokens.access_token, kinds.slice(0, 1)],
  ])('%s', (when, token, some) => {
    it.each(some)('%s: each connection is cut off, and memory stays flat', async (kind, repeated, first) => {
      const witness = new Witness(service);
      const floods = await Promise.all(
        Array.from({ length: FLOODERS }, async () => {
          const flood = await FrameFlood.open(service.url, token());
          return flood.send(repeated, MOST, first);
        }),
      );
      const cost = await witness.stop();
      const sent = floods.reduce((sum, flood) => sum + flood.sent, 0);
      report(`${kind} of ${FLOODERS} connections ${when}`, sent, cost);
      expect(floods.map(({ cut }) => cut)).toEqual(Array(FLOODERS).fill(true));
      expect(sent).toBeLessThan(FLOODERS * IN_FLIGHT);
      if (cost.memory > 0) expect(cost.memory).toBeLessThan(64);
      expect(cost.gap).toBeLessThan(5000);
    });
  });

  it('a client that pings as often as it may is answered, each time', async () => {
    const raw = await RawSocket.connect(service.url, tokens.access_token);
    for (let i = 0; i < 20; i++) expect(await raw.ping(`ping ${i}`)).toBe(`ping ${i}`);
    raw.destroy();
  });
});
