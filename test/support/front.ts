import { createServer, request as send, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A gateway before several instances: takes them in turn, can be away, can lose answers, and can send what it gets twice. */
export class Front {
  /** Addresses of the instances. */
  instances: readonly string[] = [];
  /** Whether connections end before anything is sent on. */
  away = false;
  /** How many of the next POSTs reach an instance whose answer is lost, with the connection: browsers send them again. */
  lost = 0;
  /** How many of the next POSTs it sends twice itself. */
  twice = 0;
  /** Methods and paths of what came in. */
  readonly seen: string[] = [];
  private turn = 0;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<Front> {
    const server = createServer((incoming, response) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        front.seen.push(`${incoming.method} ${incoming.url?.split('?')[0]}`);
        const answered = front.away
          ? Promise.reject(new Error('away'))
          : front.answer(incoming, Buffer.concat(chunks));
        answered.then(
          (answer) => answer.pipe(response.writeHead(answer.statusCode!, answer.rawHeaders)),
          () => incoming.socket.destroy(),
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const front = new Front(server);
    return front;
  }

  get url(): string {
    return `http://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(incoming: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    const first = await this.forward(incoming, body);
    if (incoming.method !== 'POST') return first;
    if (this.lost > 0) {
      this.lost--;
      throw new Error('lost');
    }
    if (this.twice === 0) return first;
    this.twice--;
    first.resume();
    return this.forward(incoming, body);
  }

  private forward({ method, url, rawHeaders }: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    if (method !== 'OPTIONS') this.turn++; // a preflight before each POST would bring all of them to the same one
    const instance = this.instances[this.turn % this.instances.length]!;
    return new Promise((resolve, reject) => {
      const forwarded = send(instance + url, { method, headers: rawHeaders, agent: false }, resolve);
      forwarded.on('error', reject).end(body);
    });
  }
}
