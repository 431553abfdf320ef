import { io, type ManagerOptions, type Socket, type SocketOptions } from 'socket.io-client';
import { once } from 'node:events';
import { WebSocket } from 'ws';

export interface Received {
  readonly event: string;
  readonly data: unknown;
  readonly meta?: { id: string; offset: number | null; sent_at: string };
}

export interface Ready {
  user_id: string;
  session_id: string;
  device_id: string | null;
  expires_at: string;
  offset: number;
  id: string | null;
  recovered: boolean;
}

/** It was let in, but closed before it was ready: then a client reconnects. */
export class Ended extends Error {}

/** A standard Socket.IO client that records what it gets. */
export class SocketClient {
  readonly received: Received[] = [];
  /** Reasons of every disconnect. */
  readonly disconnects: string[] = [];
  private readonly waiting = new Set<() => void>();

  private constructor(readonly socket: Socket) {
    socket.onAny((event: string, data: unknown, meta?: Received['meta']) => {
      this.received.push({ event, data, ...(meta && { meta }) });
      this.wake();
    });
    socket.on('disconnect', (reason) => {
      this.disconnects.push(reason);
      this.wake();
    });
  }

  /** Opens a socket; does not wait for anything. */
  static open(
    url: string,
    auth: object,
    options: Partial<ManagerOptions & SocketOptions> = {},
  ): SocketClient {
    return new SocketClient(
      io(url, { auth, transports: ['websocket'], reconnection: false, forceNew: true, ...options }),
    );
  }

  /** Opens a socket and waits until it is ready. */
  static async connect(
    url: string,
    token: string,
    options: Partial<ManagerOptions & SocketOptions> & { offset?: number } = {},
  ): Promise<SocketClient> {
    const { offset, ...rest } = options;
    const client = SocketClient.open(url, { token, ...(offset !== undefined && { offset }) }, rest);
    await client.ready();
    return client;
  }

  /** @throws the error of a refused handshake; `Ended` when the service closes it before it is ready */
  async ready(): Promise<Ready> {
    const refused = new Promise<never>((_, reject) => {
      this.socket.once('connect_error', reject);
      this.socket.once('disconnect', (reason) => reject(new Ended(reason)));
    });
    refused.catch(() => undefined);
    return (await Promise.race([this.next('ready'), refused])).data as Ready;
  }

  /** The error of a refused handshake. */
  async refusal(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.socket.once('connect_error', (error: Error & { data?: unknown }) =>
        resolve(error.data ?? error.message),
      );
      this.socket.once('ready', () => reject(new Error('it was not refused')));
    });
  }

  /** Resolves with the first event of a name, also if it has come already. */
  async next(event: string): Promise<Received> {
    await this.until(() => this.of(event).length > 0);
    return this.of(event)[0]!;
  }

  of(event: string): Received[] {
    return this.received.filter((one) => one.event === event);
  }

  /** Events of the user's history, in the order in which they came. */
  get history(): Received[] {
    return this.received.filter(({ meta }) => meta !== undefined);
  }

  /** Resolves once the condition holds; checks it whenever something comes. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.waiting.add(resolve));
  }

  async closed(): Promise<string> {
    await this.until(() => this.disconnects.length > 0);
    return this.disconnects.at(-1)!;
  }

  close(): void {
    this.socket.disconnect();
  }

  private wake(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }
}

/** A WebSocket below Socket.IO: sends given packets, and answers no ping. */
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
