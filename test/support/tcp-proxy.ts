import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

const everything = (): boolean => true;

/** A TCP proxy that delays, freezes, drops and cuts connections, for each direction. */
export class TcpProxy {
  readonly toServer = new Direction();
  readonly toClient = new Direction();
  private readonly connections = new Set<Connection>();

  private constructor(
    private readonly server: Server,
    readonly port: number,
    private target: { host: string; port: number },
  ) {}

  /** @param url of the server; of it host and port count */
  static async before(url: string): Promise<TcpProxy> {
    const { hostname: host, port } = new URL(url);
    const server = createServer({ allowHalfOpen: true }, (client) => proxy.join(client));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new TcpProxy(server, (server.address() as AddressInfo).port, { host, port: Number(port) });
    return proxy;
  }

  /** Returns the URL of the server, with the port of the proxy. */
  through(url: string): string {
    const through = new URL(url);
    through.port = String(this.port);
    return through.href;
  }

  /** Sets the target of new connections; open ones keep theirs. */
  retarget(port: number): void {
    this.target = { ...this.target, port };
  }

  /** Connections stay open, and nothing comes through until `restore`, which then delivers it. */
  freeze(): void {
    this.toServer.isFrozen = this.toClient.isFrozen = true;
  }

  /** Connections stay open, and what is sent through them is lost: they are cut at `restore`. */
  blackhole(): void {
    this.toServer.drops = this.toClient.drops = everything;
  }

  /** Present connections stay open, and nothing comes through them until `restore`: as after a sleep. New connections work. */
  strand(): void {
    for (const { toServer, toClient } of this.connections) {
      toServer.hold();
      toClient.hold();
    }
  }

  /** Resets all connections that there are. */
  cut(): void {
    for (const connection of this.connections) connection.cut();
  }

  /** Connections are reset, and new ones refused. */
  async refuse(): Promise<void> {
    this.cut();
    if (this.server.listening) await new Promise((resolve) => this.server.close(resolve));
  }

  /** Forwards everything again, also delayed and held bytes; connections that have lost bytes are cut. */
  async restore(): Promise<void> {
    this.toServer.reset();
    this.toClient.reset();
    for (const connection of this.connections) {
      const { toServer, toClient } = connection;
      if (toServer.isLossy || toClient.isLossy) connection.cut();
      toServer.release();
      toClient.release();
    }
    if (!this.server.listening)
      await new Promise<void>((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
  }

  private join(client: Socket): void {
    const upstream = connect({ ...this.target, allowHalfOpen: true });
    const cut = (): void => {
      reset(client);
      reset(upstream);
    };
    const connection: Connection = {
      toServer: new Line(client, upstream, this.toServer, (chunk) => this.toServer.show(chunk, connection)),
      toClient: new Line(upstream, client, this.toClient, (chunk) => this.toClient.show(chunk, connection)),
      cut,
    };
    this.connections.add(connection);
    const leave = (): void => {
      if (client.closed && upstream.closed) this.connections.delete(connection);
    };
    client.on('close', leave);
    upstream.on('close', leave);
  }
}

/** What waits here before its source is no longer read, in bytes: TCP then makes the source wait. */
const MOST_WAITING = 1 << 20;
const NOTHING = Buffer.alloc(0);

/** One connection through a proxy. */
export interface Connection {
  readonly toServer: Line;
  readonly toClient: Line;
  /** Resets it on both sides: what waits in it is lost. */
  cut(): void;
}

/** Receives the bytes of a connection before they are forwarded, and may hold its lines. */
export type Watch = (chunk: Buffer, connection: Connection) => void;

const nothing = (): boolean => false;

/** How a proxy treats one direction of all its connections. */
export class Direction {
  /** By how much everything is late. */
  delayMs = 0;
  /** Whether bytes are thrown away, and with no bytes: FIN and RST; by default none are. A connection that has lost some is cut when its proxy is restored. */
  drops: (chunk: Buffer) => boolean = nothing;
  /** While true nothing comes through, and nothing is lost. */
  isFrozen = false;
  readonly watches = new Set<Watch>();

  show(chunk: Buffer, connection: Connection): void {
    for (const watch of this.watches) watch(chunk, connection);
  }

  /** Forwards everything, without a watcher. */
  reset(): void {
    Object.assign(this, { delayMs: 0, drops: nothing, isFrozen: false });
    this.watches.clear();
  }
}

/**
 * Ends a socket by RST. If its FIN has been sent, libuv refuses (EINVAL), and Node.js then waits for its handle for ever: the process
 * spins when it should exit.
 */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

/** One direction of one connection: bytes come out as they came in and in their order, FIN as FIN, and a reset as a reset. */
class Line {
  /** Whether bytes of it were thrown away. */
  isLossy = false;
  private readonly waiting: { bytes: Buffer; due: number }[] = [];
  private size = 0;
  /** How many bytes still come through, once it is held. */
  private left = Infinity;
  /** How the source has ended, if it has. */
  private ending: 'FIN' | 'RST' | undefined;
  private timer: NodeJS.Timeout | undefined;

  /** @param look called with received bytes before they are forwarded */
  constructor(
    private readonly from: Socket,
    private readonly to: Socket,
    private readonly direction: Direction,
    look: (chunk: Buffer) => void,
  ) {
    from.on('data', (chunk: Buffer) => {
      look(chunk);
      this.take(chunk);
    });
    from.on('end', () => this.end('FIN'));
    from.on('error', () => this.end('RST'));
    from.on('close', () => this.end(this.ending ?? 'RST')); // cut on this side
    to.on('drain', () => this.pump());
  }

  /** From now on only so many bytes come through; the rest waits. */
  hold(after = 0): void {
    this.left = after;
  }

  /** Forwards waiting bytes, unless the direction is frozen. */
  release(): void {
    this.left = Infinity;
    this.pump();
  }

  /** Sends the bytes that are due. */
  pump(): void {
    if (this.direction.isFrozen) return;
    clearTimeout(this.timer);
    if (this.ending === 'RST') reset(this.to); // overtakes what waits
    while (!this.to.writableNeedDrain) {
      const [first] = this.waiting;
      if (first === undefined) break;
      const late = first.due - performance.now();
      if (late > 0) {
        this.timer = setTimeout(() => this.pump(), Math.ceil(late)).unref();
        break;
      }
      if (!this.sendFrom(first)) break;
    }
    if (this.size < MOST_WAITING) this.from.resume();
    if (this.ending && this.waiting.length === 0) this.to.end();
  }

  private take(chunk: Buffer): void {
    const { delayMs, drops } = this.direction;
    if (drops(chunk)) {
      this.isLossy = true;
      return;
    }
    const due = Math.max(performance.now() + delayMs, this.waiting.at(-1)?.due ?? 0); // none overtakes others
    this.waiting.push({ bytes: chunk, due });
    this.size += chunk.length;
    if (this.size >= MOST_WAITING) this.from.pause();
    this.pump();
  }

  private end(ending: 'FIN' | 'RST'): void {
    if (this.direction.drops(NOTHING)) this.isLossy = true;
    else this.ending = ending;
    this.pump();
  }

  /** @returns whether all of it went */
  private sendFrom(first: { bytes: Buffer }): boolean {
    const bytes = first.bytes.subarray(0, this.left);
    if (bytes.length > 0) this.to.write(bytes);
    this.left -= bytes.length;
    this.size -= bytes.length;
    first.bytes = first.bytes.subarray(bytes.length);
    if (first.bytes.length > 0) return false;
    this.waiting.shift();
    return true;
  }
}
