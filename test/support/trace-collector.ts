import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  /** OTLP: 2 server, 3 client. */
  readonly kind: number;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: CollectedSpan['attributes'] };
    readonly scopeSpans: readonly { readonly spans: readonly CollectedSpan[] }[];
  }[];
}

/** Receives traces as OTLP/HTTP in JSON, and keeps all bytes. */
export class TraceCollector {
  readonly spans: CollectedSpan[] = [];
  /** Of the resource that sends them. */
  readonly resource: Record<string, unknown> = {};
  /** Everything that was sent, with the heads of the requests. */
  text = '';

  private constructor(private readonly server: Server) {
    server.on('request', (request, response) => {
      void this.answer(request, response);
    });
  }

  static async start(): Promise<TraceCollector> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TraceCollector(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Spans that are below another one, as their names and attributes. */
  below(parent: CollectedSpan): CollectedSpan[] {
    return this.spans.filter(({ parentSpanId }) => parentSpanId === parent.spanId);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await buffer(request)).toString();
    this.text += `${request.method} ${request.url} ${request.rawHeaders.join(' ')}\n${body}\n`;
    this.take(JSON.parse(body) as Export);
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
  }

  private take({ resourceSpans }: Export): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      Object.assign(this.resource, attributesOf(resource));
      this.spans.push(...scopeSpans.flatMap(({ spans }) => spans));
    }
  }
}

export function attributesOf({ attributes }: Pick<CollectedSpan, 'attributes'>): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
