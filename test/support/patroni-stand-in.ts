import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * What HAProxy asks of Patroni: each server's port answers `GET /primary` with 200 if it is the leader, else with 503. Who is the
 * leader is for the test to say, which also promotes.
 */
export class PatroniStandIn<Node> {
  private readonly servers: Server[] = [];

  /** @param leader the primary; undefined while there is none */
  constructor(public leader: Node | undefined) {}

  /** @returns the port that answers for this server */
  async answerFor(node: Node): Promise<number> {
    const server = createServer(({ url }, response) => {
      response.writeHead(url === '/primary' && this.leader === node ? 200 : 503).end();
    });
    this.servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const server of this.servers) server.closeAllConnections();
    await Promise.all(this.servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}
