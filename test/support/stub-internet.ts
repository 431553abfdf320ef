import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { privateCa } from './private-ca.js';

export interface StubRequest {
  readonly method: string;
  /** `https://<host><path>`, without the query. */
  readonly address: string;
  readonly headers: IncomingMessage['headers'];
  readonly form: URLSearchParams;
}

export interface StubAnswer {
  readonly status?: number;
  /** Sent as JSON. */
  readonly body: unknown;
}

/** Hosts of the internet, on loopback: a proxy whose tunnels all lead to one server, which has a certificate for each host. */
export class StubInternet {
  readonly requests: StubRequest[] = [];

  private constructor(
    readonly env: Readonly<Record<'HTTPS_PROXY' | 'NODE_EXTRA_CA_CERTS', string>>,
    readonly close: () => Promise<void>,
  ) {}

  /** @param answer for undefined the answer is 404 */
  static async start(
    hosts: readonly string[],
    answer: (request: StubRequest) => StubAnswer | undefined | Promise<StubAnswer | undefined>,
  ): Promise<StubInternet> {
    const directory = mkdtempSync(join(tmpdir(), 'stub-internet-'));
    const { ca, server } = privateCa(directory, hosts.map((host) => `DNS:${host}`).join(','));
    const files = { cert: readFileSync(server.certificate), key: readFileSync(server.key) };
    const sites = createTlsServer(files, (incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      const respond = async (): Promise<void> => {
        const { method = '', headers, url = '' } = incoming;
        const address = `https://${headers.host}${url.split('?')[0]}`;
        const form = new URLSearchParams(Buffer.concat(chunks).toString());
        const request = { method, address, headers, form };
        internet.requests.push(request);
        const { status = 200, body } = (await answer(request)) ?? { status: 404, body: {} };
        outgoing.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
      };
      incoming.on('end', () => void respond());
    });
    const sockets = new Set<Socket>();
    const proxy = createServer();
    proxy.on('connect', (_request, socket: Socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      sites.emit('connection', socket);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const internet = new StubInternet(
      {
        HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
        NODE_EXTRA_CA_CERTS: ca,
      },
      async () => {
        for (const socket of sockets) socket.destroy();
        proxy.close();
        await once(proxy, 'close');
        rmSync(directory, { recursive: true });
      },
    );
    return internet;
  }
}
