import http from 'node:http';
import https from 'node:https';
import type { ListenOptions, Socket } from 'node:net';
import { StreamableFile, type NestApplicationOptions } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Response } from 'express';
import { ignoreForeignUpgrades } from './foreign-upgrades.js';
import { boundUnreadAnswers } from './unread-answers.js';

let clock: { now(): number } = Date;
let second = NaN;
let text = '';

/**
 * From now on the `Date` of every answer is by this clock: clients whose own is wrong correct theirs by it (contract §5). There is
 * one for the process, as Node.js has one.
 *
 * @param shared `now()` in milliseconds since the epoch
 */
export function tellTimeOf(shared: { now(): number }): void {
  clock = shared;
}

/** The value of a `Date` header (RFC 9110 §6.6.1), made once a second. */
export function answerDate(): string {
  const present = Math.floor(clock.now() / 1000);
  if (present !== second) {
    second = present;
    text = new Date(present * 1000).toUTCString();
  }
  return text;
}

const SOCKETS = '/socket.io/'; // Engine.IO handles its upgrades
const SWEEP_EVERY_MS = 50;
const DRAIN_MS = 10_000;
/** Connections that wait to be accepted. Of more the kernel drops some, whose clients try again after a second or more. */
const BACKLOG = 4096; // as many as Linux allows by default (net.core.somaxconn); Node.js would take 511

// Slow headers and bodies are cut off before they can hold many sockets; by default, Node looks for them every 30 s.
const SERVER_LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 500,
  requireHostHeader: false,
  // Longer than proxies keep a connection that is idle (60 s, mostly). Were it this side that closes it, a request might be on
  // its way, which the proxy must not send again.
  keepAliveTimeout: 65_000,
};

/**
 * Nest's Express adapter, with four differences:
 * - requests and responses are created with Express's prototypes. Otherwise Express 5 sets them on every request, which
 *   alone takes longer than all the rest of a small answer.
 * - JSON goes out in one write.
 * - `Date` is by the clock that all instances share.
 * - closing ends idle connections at once and waits 10 s at most for those in use.
 */
export class LatchkeyExpressAdapter extends ExpressAdapter {
  /** As many as there are files: a process may have so many open. */
  private readonly open = new Set<Socket>();

  override initHttpServer(options: NestApplicationOptions): void {
    super.initHttpServer(options); // registers what return503OnClosing asks for
    const types = prototypedBy(this.getInstance<Express>());
    const app = this.getInstance<Express>();
    this.httpServer = options?.httpsOptions
      ? https.createServer({ ...options.httpsOptions, ...SERVER_LIMITS, ...types }, app)
      : http.createServer({ ...SERVER_LIMITS, ...types }, app);
    (this.httpServer as http.Server).on('connection', (socket) => {
      this.open.add(socket);
      socket.once('close', () => this.open.delete(socket));
    });
    // Node.js drops lines beyond a number without an error, and with them X-Forwarded-For. The 16 KiB of a head bound them, too.
    (this.httpServer as http.Server).maxHeadersCount = 0;
    boundUnreadAnswers(this.httpServer);
    ignoreForeignUpgrades(this.httpServer, ({ url }) => url!.startsWith(SOCKETS));
    if (options?.forceCloseConnections)
      throw new Error('forceCloseConnections would cut off requests in flight');
  }

  /** Objects are sent as one string in one write; Express makes a Buffer of it first, and asks for settings we do not use. */
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
    const server = this.httpServer as http.Server;
    return server.listen({ port, host, backlog: BACKLOG } as ListenOptions, done as () => void);
  }

  override beforeClose(): void {
    super.beforeClose();
    const server = this.httpServer as http.Server;
    const sweep = setInterval(() => {
      server.closeIdleConnections();
      setImmediate(() => this.endUnused()); // what has come is read before
    }, SWEEP_EVERY_MS).unref();
    const end = setTimeout(() => server.closeAllConnections(), DRAIN_MS).unref();
    server.once('close', () => {
      clearInterval(sweep);
      clearTimeout(end);
    });
  }

  /** To Node.js a connection that was opened ahead, as browsers and pools do, is one in use. */
  private endUnused(): void {
    for (const socket of this.open) if (socket.bytesRead === 0) socket.destroy();
  }
}

/**
 * Classes that carry Express's own request and response methods, so that setting the prototype changes nothing. Their answers
 * tell the time of the shared clock, where Node.js would tell its own.
 */
function prototypedBy(app: Express): Pick<http.ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
  class IncomingMessage extends http.IncomingMessage {}
  class ServerResponse<R extends http.IncomingMessage> extends http.ServerResponse<R> {
    // Whoever answers, Express or somebody before it, comes through here.
    override writeHead(status: number, ...rest: unknown[]): this {
      this.setHeader('Date', answerDate());
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
