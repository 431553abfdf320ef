import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Direction, Line, reset, type Connection } from './tcp-line.js';

const everything = (): boolean => true;

/** A TCP proxy that delays, freezes, drops and cuts the connections through it, in each direction by itself. */
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

  /** From now on connections lead there; those that there are stay where they are. */
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

  /** Everything passes again; what was delayed, frozen or held goes on, and what has lost bytes is cut. */
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
