import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { AUDIT_NAMES } from '../../src/features.js';

export const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** All but `key_made`, which the first start of a service causes. */
export const WEBHOOK_EVENTS = AUDIT_NAMES.filter((name) => name !== 'key_made').join();

/** Delivery with a valid signature. */
export interface Delivery {
  /** `webhook-id` */
  readonly id: string;
  readonly body: {
    readonly type: string;
    readonly timestamp: string;
    readonly data: Record<string, unknown>;
  };
  readonly headers: IncomingHttpHeaders;
}

/** Receives webhooks, and validates them with the library of Standard Webhooks. */
export class WebhookReceiver {
  /** All valid deliveries, in their order. */
  readonly deliveries: Delivery[] = [];
  /** Problems of requests that were not valid. */
  readonly invalid: unknown[] = [];
  readonly sockets = new Set<Socket>();
  secret = WEBHOOK_SECRET;
  /** Called for each connection, before a request. */
  onConnection: () => void = () => undefined;
  /** Called for each valid delivery; by default accepts it. */
  answer: (response: ServerResponse, delivery: Delivery) => void = (response) =>
    response.writeHead(204).end();

  readonly port: number;

  private constructor(private readonly server: Server) {
    this.port = (server.address() as AddressInfo).port;
  }

  /** @param port 0: any */
  static async start(port = 0): Promise<WebhookReceiver> {
    const server = createServer({ keepAliveTimeout: 60_000 });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const receiver = new WebhookReceiver(server);
    server.on('request', (request, response: ServerResponse) => {
      void text(request).then(
        (body) => receiver.take(request.headers, body, response),
        () => undefined, // the sender has closed the connection
      );
    });
    server.on('connection', (socket: Socket) => {
      receiver.sockets.add(socket.on('close', () => receiver.sockets.delete(socket)));
      receiver.onConnection();
    });
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  get ids(): string[] {
    return this.deliveries.map(({ id }) => id);
  }

  /** Ids in the order of their first deliveries. */
  get firsts(): string[] {
    return [...new Set(this.ids)];
  }

  get repeats(): number {
    return this.ids.length - this.firsts.length;
  }

  async close(): Promise<void> {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await once(this.server, 'close');
  }

  private take(headers: IncomingHttpHeaders, body: string, response: ServerResponse): void {
    try {
      const valid = new Webhook(this.secret).verify(
        body,
        headers as Record<string, string>,
      ) as Delivery['body'];
      const delivery = { id: headers['webhook-id'] as string, body: valid, headers };
      this.deliveries.push(delivery);
      this.answer(response, delivery);
    } catch (error) {
      this.invalid.push(error);
      response.writeHead(400).end();
    }
  }
}
