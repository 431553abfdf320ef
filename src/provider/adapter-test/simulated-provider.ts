import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request of the adapter, as the provider sees it. */
export interface SeenRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface SimulatedAnswer {
  /** 200 if it is left out. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text as it is; anything else as JSON. */
  readonly body?: unknown;
}

/** What it answers; `undefined`: nothing, ever. */
export type Answering = (request: SeenRequest) => SimulatedAnswer | undefined;

/** A provider on loopback, for one check. */
export class SimulatedProvider {
  readonly requests: SeenRequest[] = [];

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(answer: Answering): Promise<SimulatedProvider> {
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (part: Buffer) => (body += part.toString()));
      request.on('end', () => {
        const { method = '', url: path = '', headers } = request;
        const seen = { method, path, headers, body };
        it.requests.push(seen);
        const said = answer(seen);
        if (!said) return;
        response.writeHead(said.status ?? 200, said.headers ?? { 'Content-Type': 'application/json' });
        response.end(textOf(said));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const it = new SimulatedProvider(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return it;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** The body of an answer as it is sent. */
export function textOf({ body = '' }: SimulatedAnswer): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}
