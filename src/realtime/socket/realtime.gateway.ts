import { Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { WebSocketGateway, type OnGatewayInit } from '@nestjs/websockets';
import type { Express } from 'express';
import type { Server, Socket } from 'socket.io';
import { OAuthError } from '../../errors/oauth-error.js';
import { toServerError } from '../../errors/server-error.js';
import { Events } from '../../events.js';
import { Admission } from '../admission/admission.js';
import { ConnectionRegistry } from './connection-registry.js';
import { Handshake, type Admitted, limitHandshakes } from '../admission/handshake.js';
import { limitMessages } from './message-limits.js';
import { closeSoon, transportOf, type Transport } from './transport.js';
import { clientAddress } from '../../http/network.js';

/**
 * The sockets (contract §7). Nest does not call guards when a socket connects, so a middleware of Socket.IO calls the same
 * JwtGuard that guards HTTP. Nest's subscriptions cost memory, so listeners are our own (socket-server.adapter.ts).
 */
@WebSocketGateway()
export class RealtimeGateway implements OnGatewayInit, BeforeApplicationShutdown {
  private readonly logger = new Logger(RealtimeGateway.name);

  constructor(
    private readonly handshake: Handshake,
    private readonly connections: ConnectionRegistry,
    private readonly admission: Admission,
    private readonly http: HttpAdapterHost,
    private readonly events: Events,
  ) {
    events.on('state.asked', (tell) =>
      tell({
        transportsWaiting: admission.transportsWaiting,
        handshakesWaiting: admission.handshakesWaiting,
      }),
    );
  }

  afterInit(server: Server): void {
    const app = this.http.httpAdapter.getInstance<Express>();
    limitHandshakes(server, (request) => this.begin(clientAddress(request, app)));
    server.engine.on('connection', (transport: Transport) =>
      this.admission.enter(transport, clientAddress(transport.request!, app)),
    );
    server.use((socket, next) => void this.admit(socket, next));
    server.on('connection', (socket: Socket) => {
      this.admission.leave(transportOf(socket));
      this.connections.open(socket, socket.data as Admitted);
      setImmediate(() => forgetRequest(transportOf(socket))); // after the listeners of code that extends the service
    });
    limitMessages(server, (transport) => this.connections.overloaded(transport));
  }

  /** Before the listener closes: farewells would be lost afterwards. */
  async beforeApplicationShutdown(): Promise<void> {
    this.admission.stop();
    await this.connections.endAll();
  }

  private async begin(address: string | undefined): Promise<void> {
    try {
      await this.handshake.begin(address);
    } catch (error) {
      const refusal = this.toOAuthError(error);
      this.events.emit('handshake.judged', { error: refusal.error });
      throw refusal;
    }
  }

  private async admit(socket: Socket, next: (error?: Error) => void): Promise<void> {
    try {
      const address = this.admission.beginAdmission(transportOf(socket));
      const admitted = await this.handshake.admit(socket, address);
      this.connections.reserve(socket, admitted.session.userId);
      socket.data = admitted;
    } catch (error) {
      const refusal = this.toOAuthError(error);
      this.events.emit('handshake.judged', { error: refusal.error });
      return refuse(socket, next, refusal);
    }
    this.events.emit('handshake.judged', { error: undefined });
    next();
  }

  private toOAuthError(error: unknown): OAuthError {
    if (error instanceof OAuthError) return error;
    this.logger.error({ err: error, msg: 'a handshake failed' });
    return toServerError(error);
  }
}

/** `connect_error` with the contract's error as its data; then the transport is closed, once that has been sent. */
function refuse(socket: Socket, next: (error: Error) => void, { description, body }: OAuthError): void {
  next(Object.assign(new Error(description), { data: body }));
  setImmediate(() => closeSoon(transportOf(socket)));
}

/**
 * The request that a socket began with is needed no more; what Socket.IO took from it is in `handshake`. Of 12.4 KiB of heap
 * that a socket takes, this spares 0.9.
 */
function forgetRequest(transport: Transport): void {
  transport.request = undefined;
}
