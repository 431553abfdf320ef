import { once } from 'node:events';
import { WebSocket } from 'ws';

/** A WebSocket below Socket.IO: sends what it is told to, and answers nothing by itself. */
export class RawSocket {
  /** Engine.IO packets, as text. */
  readonly received: string[] = [];
  /** Resolves when the connection is closed. */
  readonly closed: Promise<unknown>;
  /** Whether a packet could not be sent: the other side is gone. */
  isBroken = false;
  private onPacket: () => void = () => undefined;

  private constructor(private readonly socket: WebSocket) {
    this.closed = once(socket, 'close');
    socket.on('error', () => (this.isBroken = true));
    socket.on('message', (data: Buffer) => {
      this.received.push(data.toString());
      this.onPacket();
    });
  }

  static async open(url: string): Promise<RawSocket> {
    const address = `${url.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket`;
    const raw = new RawSocket(new WebSocket(address, { perMessageDeflate: false }));
    await once(raw.socket, 'open');
    return raw;
  }

  /** Opens one, and sends a token. */
  static async connect(url: string, token: string): Promise<RawSocket> {
    const raw = await RawSocket.open(url);
    raw.send(`40${JSON.stringify({ token })}`);
    await raw.until((packet) => packet.startsWith('42["ready"'));
    return raw;
  }

  send(packet: string | Buffer): void {
    this.socket.send(packet, (error) => (this.isBroken ||= error != null));
  }

  /** Sends a PING, and resolves with what the next PONG says. */
  async ping(text: string): Promise<string> {
    const answered = once(this.socket, 'pong');
    this.socket.ping(text);
    const [data] = (await answered) as [Buffer];
    return data.toString();
  }

  /** Sends a message in two frames, so that no length is known beforehand. */
  sendFragments(first: string, last: string): void {
    this.socket.send(first, { fin: false }, () => undefined);
    this.socket.send(last, { fin: true }, () => undefined);
  }

  /** Resolves with the first packet of a kind, also if it has come already. */
  async until(is: (packet: string) => boolean): Promise<string> {
    for (;;) {
      const packet = this.received.find(is);
      if (packet !== undefined) return packet;
      await new Promise<void>((resolve) => (this.onPacket = resolve));
    }
  }

  /** From now on it does not read, nor notice that the other side closes. */
  stopReading(): void {
    this.socket.pause();
  }

  readAgain(): void {
    this.socket.resume();
  }

  destroy(): void {
    this.socket.terminate();
  }
}
