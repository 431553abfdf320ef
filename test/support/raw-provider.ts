import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

/** What a test does with a whole request: write, or not, or cut the connection off. */
type Answer = (socket: Socket, request: string) => void;

/** A provider below HTTP: it sees each byte that is sent to it, and answers with any. */
export class RawProvider {
  /** Whole requests, each as one text of bytes. */
  readonly requests: string[] = [];
  /** Connections that were ever made, with the ports of the client. */
  readonly sockets: Socket[] = [];
  answer: Answer = answerWith('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');

  private constructor(private readonly server: Server) {}

  static async start(host = '127.0.0.1', tls?: TlsOptions): Promise<RawProvider> {
    const server = tls ? createTlsServer(tls) : createServer();
    const provider = new RawProvider(server);
    server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => provider.take(socket));
    server.listen(0, host);
    await once(server, 'listening');
    return provider;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Connections that are open. */
  get open(): number {
    return this.sockets.filter(({ closed }) => !closed).length;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private take(socket: Socket): void {
    this.sockets.push(socket);
    let bytes = '';
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      bytes += data.toString('latin1');
      const [head = '', body] = bytes.split('\r\n\r\n', 2);
      if (body === undefined || body.length < Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)) return;
      this.requests.push(bytes);
      const request = bytes;
      bytes = '';
      this.answer(socket, request);
    });
  }
}

/** Writes bytes. @param end whether the connection is closed then */
export function answerWith(bytes: string | Uint8Array, end = false): Answer {
  return (socket) => (end ? socket.end(bytes) : socket.write(bytes));
}
