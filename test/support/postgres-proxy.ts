import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deployed, complaints, ProxyProcess } from './proxy-process.js';
import { freePort } from './free-port.js';
import type { PostgresNode } from './postgres-node.js';
import type { ReplicatedPostgres } from './standby.js';

/**
 * What HAProxy asks of Patroni: each server's port answers `GET /primary` with 200 if it is the leader, else with 503. Who is the
 * leader is for the test to say, which also promotes.
 */
class PatroniStandIn<Node> {
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

const isRoot = process.getuid?.() === 0;

/** HAProxy before a primary and its standby, with deploy/haproxy-postgres.cfg as it stands. */
export class PostgresProxy {
  private constructor(
    private readonly patroni: PatroniStandIn<PostgresNode>,
    private readonly process: ProxyProcess,
    private readonly directory: string,
    readonly port: number,
  ) {}

  /** @throws Error when HAProxy refuses the file, or has something to say about it */
  static async before({ primary, standby }: ReplicatedPostgres): Promise<PostgresProxy> {
    const directory = mkdtempSync(join(tmpdir(), 'latchkey-haproxy-'));
    const patroni = new PatroniStandIn(primary);
    const port = await freePort();
    const place = async (node: PostgresNode): Promise<string> =>
      `127.0.0.1:${node.port} check port ${await patroni.answerFor(node)}`;
    const text = deployed('haproxy-postgres.cfg', {
      ...(!isRoot && { '    user haproxy\n    group haproxy\n': '' }),
      'log /dev/log local0': 'log stdout format raw local0',
      'bind :5432': `bind 127.0.0.1:${port}`,
      '10.0.0.21:5432 check port 8008': await place(primary),
      '10.0.0.22:5432 check port 8008': await place(standby),
    });
    const file = join(directory, 'haproxy.cfg');
    writeFileSync(file, text);
    const said = complaints('haproxy', ['-c', '-f', file]);
    if (said !== '') throw new Error(said);
    const running = await ProxyProcess.start('haproxy', ['-db', '-f', file], port);
    return new PostgresProxy(patroni, running, directory, port);
  }

  /** Makes the standby the primary, as Patroni does when it has given the primary up. */
  async failOver(standby: PostgresNode): Promise<void> {
    this.patroni.leader = undefined;
    await standby.promote();
    this.patroni.leader = standby;
  }

  async stop(): Promise<void> {
    await this.process.stop();
    await this.patroni.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
