import { ServerResponse, type IncomingMessage } from 'node:http';
import { Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { WebSocketGateway, type OnGatewayInit } from '@nestjs/websockets';
import type { Express } from 'express';
import type { Server, Socket } from 'socket.io';
import { Clock } from '../../platform/database/clock.js';
import { OAuthError, toServerError } from '../../platform/errors/oauth-error.js';
import { Events } from '../../platform/events.js';
import { ANSWER_HEADERS } from '../../platform/http/middleware/security-headers.js';
import { clientAddress } from '../../platform/http/network.js';
import { refusalText, refuse } from '../../platform/http/server/refusal.js';
import { HandshakeQueue, type Admitted } from '../handshakes/handshake-queue.js';
import { ConnectionRegistry } from './connection-registry.js';
import { limitMessages } from './message-limits.js';
import { closeSoon, toTransport, type Transport } from './transport.js';

interface EngineRequest extends IncomingMessage {
  readonly _query: { readonly sid?: string };
}

/**
 * The sockets. Nest calls no guards when a socket connects, so a middleware of Socket.IO calls the JwtGuard.
 */
@WebSocketGateway()
export class RealtimeGateway implements OnGatewayInit, BeforeApplicationShutdown {
  private readonly logger = new Logger(RealtimeGateway.name);

  constructor(
    private readonly connections: ConnectionRegistry,
    private readonly handshakes: HandshakeQueue,
    private readonly http: HttpAdapterHost,
    private readonly events: Events,
    private readonly clock: Clock,
  ) {}

  afterInit(server: Server): void {
    server.engine.use((request: EngineRequest, response: object, next: () => void) => {
      const { _query: query } = request;
      // Engine.IO answers before Express, so the headers of all answers are set here too. An upgrade has no
      // response.
      if (response instanceof ServerResponse) response.setHeaders(new Map(Object.entries(ANSWER_HEADERS)));
      // Polls, posts and upgrades of an open Engine.IO session are no handshakes.
      if (query.sid) next();
      else this.begin(request, response, next).catch(() => request.socket.destroy());
    });
    server.engine.on('connection', (transport: Transport) =>
      this.handshakes.enter(transport, this.findAddress(transport.request!)),
    );
    server.use((socket, next) => void this.admit(socket, next));
    server.on('connection', (socket: Socket) => {
      this.handshakes.leave(toTransport(socket));
      this.connections.open(socket, socket.data as Admitted);
      // It takes memory as long as the socket lives; `socket.handshake` has the headers.
      setImmediate(() => (toTransport(socket).request = undefined));
    });
    limitMessages(server, (transport) => this.connections.overloaded(transport));
  }

  /** Before the listener closes: `session.ended` could not be sent afterwards. */
  async beforeApplicationShutdown(): Promise<void> {
    this.handshakes.stop();
    await this.connections.endAll();
  }

  /** Refuses a handshake as an HTTP request, before it has a transport. */
  private async begin(request: EngineRequest, response: object, next: () => void): Promise<void> {
    const { socket } = request;
    const isUpgrade = !(response instanceof ServerResponse);
    if (isUpgrade) socket.on('error', ignore).pause(); // an unhandled reset would end the process
    try {
      await this.handshakes.begin(this.findAddress(request));
    } catch (error) {
      const refusal = this.toRefusal(error);
      if (!isUpgrade) return refuse(response, refusal);
      socket.write(refusalText(refusal, this.clock.now()));
      return socket.destroySoon();
    }
    if (socket.destroyed) return; // the client is gone
    if (isUpgrade) socket.off('error', ignore);
    next();
    if (isUpgrade) socket.resume();
  }

  private async admit(socket: Socket, next: (error?: Error) => void): Promise<void> {
    try {
      const admitted = await this.handshakes.admit(socket);
      this.connections.reserve(socket, admitted.session.userId);
      socket.data = admitted;
    } catch (error) {
      const { description, body } = this.toRefusal(error);
      next(Object.assign(new Error(description), { data: body })); // `connect_error`
      setImmediate(() => closeSoon(toTransport(socket)));
      return;
    }
    this.events.emit('handshake.finished', { error: undefined });
    next();
  }

  private findAddress(request: IncomingMessage): string | undefined {
    return clientAddress(request, this.http.httpAdapter.getInstance<Express>());
  }

  private toRefusal(error: unknown): OAuthError {
    const refusal = error instanceof OAuthError ? error : toServerError(error);
    if (refusal !== error) this.logger.error({ err: error, msg: 'a handshake failed' });
    this.events.emit('handshake.finished', { error: refusal.error });
    return refusal;
  }
}

const ignore = (): void => undefined;
