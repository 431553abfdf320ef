import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

const TERMINATE = Buffer.from([0x58, 0, 0, 0, 4]); // the message with which a client says that it goes

/**
 * What a pooler in transaction mode does with a session whose client has gone: it keeps it for others, as it is. (Each
 * client has a session of its own here.)
 */
export class KeepingPooler {
  private readonly sessions = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async before(url: string): Promise<KeepingPooler> {
    const { hostname, port } = new URL(url);
    const server = createServer((client) => {
      const session = connect(Number(port), hostname);
      pooler.sessions.add(session);
      client.on('data', (chunk) => {
        if (chunk.equals(TERMINATE)) client.end();
        else session.write(chunk);
      });
      session.on('data', (chunk) => void (client.writable && client.write(chunk)));
      for (const socket of [client, session]) socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const pooler = new KeepingPooler(server);
    return pooler;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const session of this.sessions) session.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
