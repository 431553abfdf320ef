import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP proxy that can drop, delay, freeze and cut the connections through it. */
export class TcpProxy {
  /** Whether bytes from the server are thrown away; by default none are. */
  drops: (chunk: Buffer) => boolean = () => false;
  /** By how much everything from the server is late. */
  delayMs = 0;
  private frozen = false;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async before(url: string): Promise<TcpProxy> {
    const { hostname, port } = new URL(url);
    const server = createServer((client) => {
      const upstream = connect(Number(port), hostname);
      proxy.join(client, upstream);
      proxy.join(upstream, client, true);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new TcpProxy(server, (server.address() as AddressInfo).port);
    return proxy;
  }

  /** Connections stay open, and nothing comes through. */
  freeze(): void {
    this.frozen = true;
  }

  /** Connections are reset, and new ones refused. */
  async refuse(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    if (this.server.listening) await new Promise((resolve) => this.server.close(resolve));
  }

  async restore(): Promise<void> {
    if (this.frozen) for (const socket of this.sockets) socket.destroy(); // swallowed bytes do not come again
    this.frozen = false;
    this.drops = () => false;
    if (!this.server.listening)
      await new Promise<void>((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
  }

  private join(from: Socket, to: Socket, isServer = false): void {
    let due = 0; // when the last delayed bytes are sent, so that none overtake others
    this.sockets.add(from);
    from.on('data', (chunk: Buffer) => {
      if (this.frozen || (isServer && this.drops(chunk))) return;
      const now = performance.now();
      due = Math.max(now + (isServer ? this.delayMs : 0), due);
      if (due > now) setTimeout(() => to.write(chunk), Math.ceil(due - now)).unref();
      else to.write(chunk);
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      this.sockets.delete(from);
      to.destroy();
    });
  }
}
