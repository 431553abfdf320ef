import { setImmediate as nextLoopTick } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import type { Socket } from 'socket.io';
import { Background } from '../../platform/background.js';
import { PresenceTracker } from '../../channel/presence.tracker.js';
import { Clock } from '../../platform/database/clock.js';
import { OAuthError, toServerError } from '../../platform/errors/oauth-error.js';
import { Events } from '../../platform/events.js';
import { AccessTokenVerifier, type VerifiedToken } from '../../token/access-tokens/access-token.verifier.js';
import { SessionFeed } from '../../token/feed/session-feed.js';
import type { Admitted } from '../handshakes/handshake-queue.js';
import { ChannelHub } from '../delivery/channel-hub.js';
import { Connection } from './connection.js';
import { closeNow, closeSoon, toTransport, type Transport } from './transport.js';

const SOCKETS_A_USER = 20;
const WARN_BEFORE_MS = 60_000;
const WARN_AGAIN_MS = 5000;
/** Requests are answered between the batches. */
const ENDED_A_TICK = 50;

/**
 * The open sockets of this instance. Each lives exactly as long as its session's access token
 * (docs/realtime.md#the-life-of-a-connection).
 */
@Injectable()
export class ConnectionRegistry {
  private readonly logger = new Logger(ConnectionRegistry.name);
  private readonly bySession = new Map<string, Set<Connection>>();
  private readonly byTransport = new WeakMap<Transport, Connection>();
  private readonly revokedKeys = new Set<string>();
  /** Sockets that are admitted and not open yet, by user: tokens are verified in batches. */
  private readonly admitted = new Map<string, Set<Socket>>();
  private openSockets = 0;
  private stopping = false;

  constructor(
    private readonly clock: Clock,
    private readonly tokens: AccessTokenVerifier,
    private readonly sessionFeed: SessionFeed,
    private readonly channels: ChannelHub,
    private readonly presence: PresenceTracker,
    private readonly events: Events,
    background: Background,
  ) {
    // For all: separate timers take more memory, and would not follow a clock that is corrected.
    background.repeat('end-expired-sockets', () => this.onTick());
    events.on('session.ended', ({ sessionId, cause }) =>
      this.bySession.get(sessionId)?.forEach((connection) => connection.end('signed_out', cause)),
    );
    events.on('key.revoked', ({ kid }) => this.revoke(kid));
    events.on('state.requested', (report) => report({ sockets: this.openSockets }));
  }

  /**
   * Reserves a place for a socket that opens before the next tick of the event loop, or never.
   * @throws OAuthError `slow_down` if the user has too many sockets here, `server_error` if the service stops
   */
  reserve(socket: Socket, userId: string): void {
    if (this.stopping) throw new OAuthError('server_error', 'the service is stopping');
    const admitted = this.admitted.get(userId) ?? new Set();
    if (this.channels.countConnections(userId) + admitted.size >= SOCKETS_A_USER) {
      throw new OAuthError('slow_down', `a user may have ${SOCKETS_A_USER} sockets`);
    }
    this.admitted.set(userId, admitted.add(socket));
    setImmediate(() => this.release(socket, userId));
  }

  open(socket: Socket, admitted: Admitted): void {
    const { session, kid } = admitted;
    this.release(socket, session.userId);
    const connection = new Connection(socket, admitted, () => this.clock.now());
    this.byTransport.set(toTransport(socket), connection);
    this.openSockets++;
    const ofSession = this.bySession.get(session.sessionId) ?? new Set();
    this.bySession.set(session.sessionId, ofSession.add(connection));
    this.presence.arrived(session);
    socket.on('disconnect', () => {
      this.onClosed(connection);
      // it only left the namespace
      if (toTransport(socket).readyState === 'open') closeSoon(toTransport(socket));
    });
    socket.on(
      'authenticate',
      (body: unknown, ack: unknown) => void this.onAuthenticate(connection, body, ack),
    );
    this.scheduleWarning(connection);

    // The session may have ended, or the key been revoked, since the token was verified.
    if (this.sessionFeed.includes(session.sessionId)) return connection.end('signed_out');
    if (this.revokedKeys.has(kid)) return connection.end('revoked');
    if (this.stopping) return connection.end('shutdown');
    this.channels.join(connection, admitted).catch((error: unknown) => {
      this.logger.error({ err: error, msg: 'a channel could not be joined' });
      connection.end('overloaded');
    });
  }

  /** Ends the connection of a client that sends too much. */
  overloaded(transport: Transport): void {
    const connection = this.byTransport.get(transport);
    if (connection) connection.end('overloaded');
    else closeNow(transport);
  }

  /** Ends all connections; their clients reconnect, to another instance or to this one after its restart. */
  async endAll(): Promise<void> {
    this.stopping = true;
    const all = this.all();
    for (let i = 0; i < all.length; i += ENDED_A_TICK) {
      for (const connection of all.slice(i, i + ENDED_A_TICK)) connection.end('shutdown');
      await nextLoopTick();
    }
    await Promise.all(all.map((connection) => connection.drained()));
  }

  private release(socket: Socket, userId: string): void {
    const admitted = this.admitted.get(userId);
    admitted?.delete(socket);
    if (admitted?.size === 0) this.admitted.delete(userId);
  }

  private all(): Connection[] {
    return [...this.bySession.values()].flatMap((connections) => [...connections]);
  }

  private revoke(kid: string): void {
    this.revokedKeys.add(kid);
    for (const connection of this.all()) if (connection.kid === kid) connection.end('revoked');
  }

  private onClosed(connection: Connection): void {
    const { sessionId } = connection.session;
    const ofSession = this.bySession.get(sessionId);
    ofSession?.delete(connection);
    if (ofSession?.size === 0) this.bySession.delete(sessionId);
    this.channels.leave(connection);
    this.presence.left(connection.session);
    this.openSockets--;
    this.events.emit('socket.closed', { reason: connection.ending ?? 'client' });
  }

  /** @param pause milliseconds before the client may be warned */
  private scheduleWarning(connection: Connection, pause = 0): void {
    connection.dueAt = Math.max(connection.expiresAt - WARN_BEFORE_MS, this.clock.now() + pause);
  }

  private onTick(): void {
    const now = this.clock.now();
    for (const connections of this.bySession.values()) {
      for (const connection of connections) if (now >= connection.dueAt) this.onDue(connection, now);
    }
  }

  private onDue(connection: Connection, now: number): void {
    if (now >= connection.expiresAt) return connection.end('expired');
    if (connection.position === undefined) return; // `ready` comes first
    connection.emit('token.expiring', { expires_at: connection.expiry });
    connection.dueAt = connection.expiresAt;
  }

  private async onAuthenticate(connection: Connection, body: unknown, ack: unknown): Promise<void> {
    if (!connection.isOpen) return;
    const answer = typeof ack === 'function' ? (ack as (answer: object) => void) : () => undefined;
    try {
      this.renew(connection, await this.verify(connection, body));
      answer({ expires_at: connection.expiry });
    } catch (error) {
      if (!(error instanceof OAuthError)) this.logger.error({ err: error, msg: 'a token was not renewed' });
      answer((error instanceof OAuthError ? error : toServerError(error)).body);
    }
  }

  /** @throws OAuthError `invalid_token`, also after expiry: an event may have been withheld already */
  private async verify({ session, expiresAt }: Connection, body: unknown): Promise<VerifiedToken> {
    const token = (body as { token?: unknown } | null | undefined)?.token;
    const verified = typeof token === 'string' ? await this.tokens.find(token) : undefined;
    if (verified?.session.sessionId === session.sessionId && this.clock.now() < expiresAt) return verified;
    throw new OAuthError(
      'invalid_token',
      'the access token is invalid, has expired or is of another session',
    );
  }

  /**
   * A token that expires sooner changes nothing (docs/realtime.md#what-a-client-may-send): responses may
   * arrive in another order.
   */
  private renew(connection: Connection, { claims, kid }: VerifiedToken): void {
    const expiresAt = claims.exp * 1000;
    if (!connection.isOpen || expiresAt < connection.expiresAt) return;
    connection.expiresAt = expiresAt;
    connection.kid = kid;
    // The client may have no better token than the present one, so the next warning waits.
    this.scheduleWarning(connection, Math.min(WARN_AGAIN_MS, (expiresAt - this.clock.now()) / 2));
    if (this.revokedKeys.has(kid)) connection.end('revoked');
  }
}
