import http from 'node:http';
import type { Socket } from 'node:net';
import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type RequestHandler, type Response } from 'express';
import { endIfUnread } from './ending.js';
import { ignoreForeignUpgrades } from './foreign-upgrades.js';
import { trackAnswer } from './unread-answers.js';

const SWEEP_EVERY_MS = 50;
const DRAIN_MS = 10_000;
/** Connections that wait to be accepted: clients of dropped ones retry only after a second or more. */
const BACKLOG = 4096; // Linux's default maximum (net.core.somaxconn); Node.js' default is 511

/** A connection without traffic for this long is closed. Longer than a poll of Engine.IO waits. */
const SILENCE_MS = 60_000;

const SERVER_LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 500, // Node.js' default of 30 s lets slow clients hold many sockets
  requireHostHeader: false,
  // Longer than proxies keep idle connections (60 s): else a request might arrive while this side closes.
  keepAliveTimeout: 65_000,
};

/**
 * Nest's Express adapter, with these differences:
 * - Requests and responses are created with Express's prototypes, which Express 5 otherwise sets on each of
 *   them. That takes longer than the rest of a small answer (CONTRIBUTING.md#deviations-from-nestjs).
 * - JSON is sent in one write.
 * - `Date` follows the clock that all instances share.
 * - Closing ends idle connections at once, and all others after 10 s.
 */
export class LatchkeyExpressAdapter extends ExpressAdapter {
  private readonly open = new Set<Socket>();
  private clock: { now(): number } = Date;
  private date = { second: NaN, text: '' };

  /** Clients correct their clocks by `Date` (docs/browser-sessions.md#proofs-without-the-sdk). */
  useClock(clock: { now(): number }): void {
    this.clock = clock;
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    const server = http.createServer({ ...SERVER_LIMITS, ...classesFor(app, () => this.answerDate()) }, app);
    server.on('connection', (socket) => {
      if (this.open.has(socket)) return; // read again (foreign-upgrades.ts)
      this.open.add(socket);
      socket.once('close', () => this.open.delete(socket));
    });
    // Node.js silently drops lines beyond a number, X-Forwarded-For too. The 16 KiB of a head bound them.
    server.maxHeadersCount = 0;
    server.timeout = SILENCE_MS;
    ignoreForeignUpgrades(server, ({ url }) => url!.startsWith('/socket.io/'));
    this.httpServer = server;
  }

  /** Sends JSON in one write. Express makes a Buffer of it, and reads settings that are not used here. */
  override reply(response: Response, body: unknown, statusCode?: number): void {
    if (typeof body !== 'object' || body === null || body instanceof StreamableFile) {
      super.reply(response, body, statusCode);
      return;
    }
    const json = JSON.stringify(body);
    if (statusCode) response.statusCode = statusCode;
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.setHeader('Content-Length', Buffer.byteLength(json));
    response.end(json);
  }

  override listen(port: string | number, ...rest: unknown[]): http.Server {
    const [host, done] = typeof rest[0] === 'string' ? rest : [undefined, rest[0]];
    const options = { port: Number(port), host: host as string | undefined, backlog: BACKLOG };
    return (this.httpServer as http.Server).listen(options, done as () => void);
  }

  override beforeClose(): void {
    super.beforeClose();
    const server = this.httpServer as http.Server;
    const sweep = setInterval(() => {
      server.closeIdleConnections();
      setImmediate(() => this.endUnused()); // after pending input is read
    }, SWEEP_EVERY_MS).unref();
    const end = setTimeout(() => server.closeAllConnections(), DRAIN_MS).unref();
    server.once('close', () => {
      clearInterval(sweep);
      clearTimeout(end);
    });
  }

  /** Returns the value of a `Date` header (RFC 9110 §6.6.1), formatted once a second. */
  private answerDate(): string {
    const second = Math.floor(this.clock.now() / 1000);
    if (second !== this.date.second) this.date = { second, text: new Date(second * 1000).toUTCString() };
    return this.date.text;
  }

  /** Browsers and pools open connections ahead; Node.js does not count those without a request as idle. */
  private endUnused(): void {
    for (const socket of this.open) if (socket.bytesRead === 0) socket.destroy();
  }
}

/** Creates classes with Express's own methods, so that setting the prototype changes nothing. */
function classesFor(
  app: Express,
  answerDate: () => string,
): Pick<http.ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
  class IncomingMessage extends http.IncomingMessage {}
  class ServerResponse<R extends http.IncomingMessage> extends http.ServerResponse<R> {
    constructor(request: R) {
      super(request);
      trackAnswer(request, this);
    }
    override writeHead(status: number, ...rest: unknown[]): this {
      this.setHeader('Date', answerDate());
      endIfUnread(this.req, this);
      return super.writeHead(status, ...(rest as []));
    }
  }
  for (const [name, type] of [
    ['request', IncomingMessage],
    ['response', ServerResponse],
  ] as const) {
    Object.defineProperties(type.prototype, Object.getOwnPropertyDescriptors(express[name]));
    Object.assign(type.prototype, { app });
    Object.assign(app, { [name]: type.prototype });
  }
  return { IncomingMessage, ServerResponse };
}

/** Joins middlewares into one layer: Express's router takes half a microsecond for each. */
export function inOrder(...handlers: RequestHandler[]): RequestHandler {
  return handlers.reduceRight((rest, handler) => (request, response, next) => {
    void handler(request, response, (error?: unknown) =>
      error ? next(error) : void rest(request, response, next),
    );
  });
}
