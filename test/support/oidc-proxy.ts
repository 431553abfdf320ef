import {
  createServer,
  request as forward,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** Changes an answer: returns another one, or nothing to leave it as it is. */
export type Tamper = (path: string, body: Record<string, unknown>) => Record<string, unknown> | undefined;

/** A proxy in front of a provider: changes the JSON that passes, and counts requests. */
export class TamperingProxy {
  /** Port of the provider; 0 while there is none. */
  target = 0;
  tamper: Tamper = () => undefined;
  /** Answers instead of the provider; returns whether it has. */
  intercept: (path: string, response: ServerResponse) => boolean = () => false;
  /** Everything that the token endpoint has answered, as it left the proxy; `reset` keeps it. */
  readonly tokens: Record<string, unknown>[] = [];
  readonly requests: { path: string; body: string; headers: IncomingHttpHeaders }[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<TamperingProxy> {
    const server = createServer((incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        const { url: path = '', method, headers } = incoming;
        const body = Buffer.concat(chunks);
        proxy.requests.push({ path, body: body.toString(), headers });
        if (proxy.intercept(path, outgoing)) return;
        // The provider sees the proxy's own Host, so all its answers name the proxy's address.
        const onward = forward({ port: proxy.target, host: '127.0.0.1', path, method, headers }, (answer) => {
          const parts: Buffer[] = [];
          answer.on('data', (part: Buffer) => parts.push(part));
          answer.on('end', () => {
            const changed = proxy.change(path, answer.headers['content-type'], Buffer.concat(parts));
            const { 'transfer-encoding': _, ...others } = answer.headers;
            outgoing.writeHead(answer.statusCode ?? 0, { ...others, 'content-length': changed.length });
            outgoing.end(changed);
          });
        });
        onward.on('error', () => outgoing.destroy());
        onward.end(body);
      });
    });
    const proxy = new TamperingProxy(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** How often a path was asked for. */
  count(path: string): number {
    return this.requests.filter((request) => request.path.startsWith(path)).length;
  }

  reset(): void {
    this.tamper = () => undefined;
    this.intercept = () => false;
    this.requests.length = 0;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private change(path: string, contentType: string | undefined, body: Buffer): Buffer {
    if (!contentType?.includes('json')) return body;
    const said = JSON.parse(body.toString()) as Record<string, unknown>;
    const changed = this.tamper(path, said);
    if (path === '/token') this.tokens.push(changed ?? said);
    return changed ? Buffer.from(JSON.stringify(changed)) : body;
  }
}
