import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Request of the adapter, as the provider receives it. */
export interface SeenRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface SimulatedAnswer {
  /** Default: 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text is sent as it is, any other value as JSON. */
  readonly body?: unknown;
}

/** Answers a request; after `undefined` the request gets no answer. */
export type Answering = (request: SeenRequest) => SimulatedAnswer | undefined;

/** Provider on loopback, for one check. */
export interface SimulatedProvider {
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  close(): void;
}

/** Starts a provider. */
export async function startProvider(answering: Answering): Promise<SimulatedProvider> {
  const requests: SeenRequest[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const seen = { method, path, headers, body };
      requests.push(seen);
      const answer = answering(seen);
      if (!answer) return;
      response.writeHead(answer.status ?? 200, answer.headers ?? { 'Content-Type': 'application/json' });
      response.end(textOf(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Body of an answer, as it is sent. */
export function textOf({ body = '' }: SimulatedAnswer): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}
