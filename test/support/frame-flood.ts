import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

const CHUNK = 64 * 1024;

/** Frames of a client (RFC 6455 §5.2), with a mask of zeros. @param head FIN and opcode */
export function frame(head: number, payload: string | Buffer = ''): Buffer {
  const data = Buffer.from(payload);
  const length =
    data.length < 126 ? [0x80 | data.length] : [0x80 | 126, data.length >> 8, data.length & 0xff];
  return Buffer.concat([Buffer.from([head, ...length, 0, 0, 0, 0]), data]);
}

export const TEXT = 0x81;
export const FIRST_FRAGMENT = 0x01;
export const FRAGMENT = 0x00;
export const PING = 0x89;
export const PONG = 0x8a;

/** A WebSocket below every library: sends frames as fast as they are accepted, and no longer reads anything. */
export class FrameFlood {
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
