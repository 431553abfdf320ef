import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Socket } from 'socket.io';
import { Clock } from '../database/clock.js';
import { OAuthError } from '../errors/oauth-error.js';
import { Events, type Session } from '../events.js';
import { AccessTokenVerifier } from '../token/access-token.verifier.js';
import { EndedSessions } from '../token/ended-sessions.js';
import { Connection } from './connection.js';
import { Deadlines } from './deadlines.js';
import type { Admission } from './handshake.js';
import { PresenceTracker } from './presence.js';
import { closeNow, transportOf, type Transport } from './transport.js';
import { UserChannels } from './user-channels.js';

const SOCKETS_A_USER = 20;
const WARN_BEFORE_MS = 60_000;

/** All open sockets of this instance: each lives exactly as long as its session's access token (contract §7). */
@Injectable()
export class Connections implements OnApplicationShutdown {
  private readonly logger = new Logger(Connections.name);
  private readonly bySession = new Map<string, Set<Connection>>();
  private readonly byTransport = new WeakMap<Transport, Connection>();
  private readonly deadlines: Deadlines<Connection>;
  private stopping = false;

  constructor(
    private readonly clock: Clock,
    private readonly tokens: AccessTokenVerifier,
    private readonly endedSessions: EndedSessions,
    private readonly channels: UserChannels,
    private readonly presence: PresenceTracker,
    events: Events,
  ) {
    this.deadlines = new Deadlines(
      () => clock.now(),
      (connection) => this.onDeadline(connection),
    );
    events.on('session.ended', ({ sessionId }) =>
      this.bySession.get(sessionId)?.forEach((one) => one.end('signed_out')),
    );
  }

  /** @throws OAuthError `slow_down` when the user has as many sockets here as one may have */
  assertRoomFor(userId: string): void {
    if (this.stopping) throw new OAuthError('server_error', 'the service is stopping');
    if (this.channels.countOf(userId) >= SOCKETS_A_USER) {
      throw new OAuthError('slow_down', `a user may have ${SOCKETS_A_USER} sockets`);
    }
  }

  /** Takes up a socket that the handshake has admitted. */
  open(socket: Socket, { session, claims, offset }: Admission): void {
    const connection = new Connection(socket, session, claims.exp, () => this.clock.now());
    this.byTransport.set(transportOf(socket), connection);
    const ofSession = this.bySession.get(session.sessionId) ?? new Set();
    this.bySession.set(session.sessionId, ofSession.add(connection));
    this.presence.arrived(session);
    socket.on('disconnect', () => this.close(connection));
    socket.on('authenticate', (body: unknown, ack: unknown) => void this.renew(connection, body, ack));
    this.setDeadline(connection);

    // Between the handshake and this moment the session may have been signed out.
    if (this.endedSessions.includes(session.sessionId)) return connection.end('signed_out');
    if (this.stopping) return connection.end('shutdown');
    this.channels.join(connection, offset).catch((error: unknown) => {
      this.logger.error({ err: error, msg: 'a channel could not be joined' });
      connection.end('overloaded'); // the client comes back by itself
    });
  }

  /** A client sends more than it may. */
  overloaded(transport: Transport): void {
    const connection = this.byTransport.get(transport);
    if (connection) connection.end('overloaded');
    else closeNow(transport); // it has not even connected
  }

  /** Farewell to everyone: stock clients come back by themselves, to another instance or to this one once it is up. */
  async endAll(): Promise<void> {
    this.stopping = true;
    const all = [...this.bySession.values()].flatMap((connections) => [...connections]);
    for (const connection of all) connection.end('shutdown');
    await Promise.all(all.map((connection) => connection.drained()));
  }

  onApplicationShutdown(): void {
    this.deadlines.stop();
  }

  private close(connection: Connection): void {
    const { sessionId } = connection.session;
    const ofSession = this.bySession.get(sessionId);
    ofSession?.delete(connection);
    if (ofSession?.size === 0) this.bySession.delete(sessionId);
    this.deadlines.delete(connection);
    this.channels.leave(connection);
    this.presence.left(connection.session);
  }

  private setDeadline(connection: Connection): void {
    connection.warned = false;
    this.deadlines.set(connection, connection.expiresAt - WARN_BEFORE_MS);
  }

  private onDeadline(connection: Connection): void {
    if (this.clock.now() >= connection.expiresAt) return connection.end('expired');
    if (!connection.warned) connection.tell('token.expiring', { expires_at: rfc3339(connection.expiresAt) });
    connection.warned = true;
    this.deadlines.set(connection, connection.expiresAt);
  }

  /** `authenticate`: a new token of the same session, and the connection goes on. */
  private async renew(connection: Connection, body: unknown, ack: unknown): Promise<void> {
    if (!connection.isOpen) return;
    const answer = typeof ack === 'function' ? (ack as (answer: object) => void) : () => undefined;
    const token = (body as { token?: unknown } | null | undefined)?.token;
    try {
      const verified = typeof token === 'string' ? await this.tokens.find(token) : undefined;
      const isLate = this.clock.now() >= connection.expiresAt; // something may have been held back already
      if (!verified || isLate || !isSame(verified.session, connection.session)) {
        throw new OAuthError(
          'invalid_token',
          'the access token is invalid, has expired or is of another session',
        );
      }
      connection.expiresAt = verified.claims.exp * 1000;
      if (connection.isOpen) this.setDeadline(connection);
      answer({ expires_at: rfc3339(connection.expiresAt) });
    } catch (error) {
      const { error: code, description } =
        error instanceof OAuthError ? error : new OAuthError('server_error', 'something went wrong');
      answer({ error: code, error_description: description });
    }
  }
}

function isSame(one: Session, other: Session): boolean {
  return one.sessionId === other.sessionId && one.userId === other.userId;
}

function rfc3339(ms: number): string {
  return new Date(ms).toISOString();
}
