import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Socket } from 'socket.io';
import { PresenceTracker } from '../../channel/presence.tracker.js';
import { Clock } from '../../database/clock.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { toServerError } from '../../errors/server-error.js';
import { Events } from '../../events.js';
import { EndedSessions } from '../../token/revocation/ended-sessions.js';
import { Connection } from './connection.js';
import type { Admitted } from '../admission/handshake.js';
import { Renewals, type Renewal } from './renewal.js';
import { closeNow, closeSoon, transportOf, type Transport } from './transport.js';
import { ChannelHub } from '../delivery/channel-hub.js';

const TICK_MS = 250;

/**
 * One timer for any number of deadlines: each tick looks at all. They are met at most a tick late and never early, also when
 * the clock is corrected while they wait. Separate timers would not notice that.
 * Measured with 20,000 deadlines: each takes 62 bytes of heap and 0.1 µs to renew; a tick takes 0.14 ms. With a `setTimeout`
 * for each: 344 bytes (1,120 after five renewals) and 1.6 µs. With a bucket for each second: 92 bytes (162) and 0.6 µs, and
 * late after the clock was set back.
 */
export class Deadlines<Item extends object> {
  private readonly deadlines = new Map<Item, number>();
  private readonly timer: NodeJS.Timeout;

  /** @param now milliseconds since the epoch, by the clock that deadlines are given in */
  constructor(
    private readonly now: () => number,
    private readonly onDue: (item: Item) => void,
  ) {
    this.timer = setInterval(() => this.tick(), TICK_MS).unref();
  }

  /** Sets the one deadline that an item has; a former one is forgotten. One that is past already is due at the next tick. */
  set(item: Item, atMs: number): void {
    this.deadlines.set(item, atMs);
  }

  delete(item: Item): void {
    this.deadlines.delete(item);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private tick(): void {
    const now = this.now();
    for (const [item, atMs] of this.deadlines) {
      if (atMs > now) continue;
      this.deadlines.delete(item);
      this.onDue(item);
    }
  }
}

const SOCKETS_A_USER = 20;
const WARN_BEFORE_MS = 60_000;
const WARN_AGAIN_MS = 5000;
/** When it is looked again at a connection that is to be told `ready` first. */
const NOT_READY_MS = 100;
/** Requests in flight are answered while 20,000 sockets are told that the service stops. */
const ENDED_A_TURN = 50;

/** All open sockets of this instance: each lives exactly as long as its session's access token (contract §7). */
@Injectable()
export class ConnectionRegistry implements OnApplicationShutdown {
  private readonly logger = new Logger(ConnectionRegistry.name);
  private readonly bySession = new Map<string, Set<Connection>>();
  private readonly byTransport = new WeakMap<Transport, Connection>();
  private readonly deadlines: Deadlines<Connection>;
  /** Keys withdrawn by an operator since this instance started: a few at most. */
  private readonly revokedKeys = new Set<string>();
  /** Sockets that are admitted and not open yet, by user: those that shared a statement are admitted at the same moment. */
  private readonly admitted = new Map<string, Set<Socket>>();
  private openSockets = 0;
  private stopping = false;

  constructor(
    private readonly clock: Clock,
    private readonly renewals: Renewals,
    private readonly endedSessions: EndedSessions,
    private readonly channels: ChannelHub,
    private readonly presence: PresenceTracker,
    private readonly events: Events,
  ) {
    this.deadlines = new Deadlines(
      () => clock.now(),
      (connection) => this.onDeadline(connection),
    );
    events.on('session.ended', ({ sessionId }) =>
      this.bySession.get(sessionId)?.forEach((one) => one.end('signed_out')),
    );
    events.on('key.revoked', ({ kid }) => this.revoke(kid));
    events.on('state.asked', (tell) => tell({ sockets: this.openSockets }));
  }

  /**
   * Keeps a place for a socket that is opened before the next turn of the event loop, or never.
   * @throws OAuthError `slow_down` when the user has as many sockets here as a user may have
   */
  reserve(socket: Socket, userId: string): void {
    if (this.stopping) throw new OAuthError('server_error', 'the service is stopping');
    const admitted = this.admitted.get(userId) ?? new Set();
    if (this.channels.countOf(userId) + admitted.size >= SOCKETS_A_USER) {
      throw new OAuthError('slow_down', `a user may have ${SOCKETS_A_USER} sockets`);
    }
    this.admitted.set(userId, admitted.add(socket));
    setImmediate(() => this.release(socket, userId)); // its client may be gone, so that it is never opened
  }

  /** Registers a socket that the handshake has admitted. */
  open(socket: Socket, { session, claims, kid, from }: Admitted): void {
    this.release(socket, session.userId); // it is counted by its channel
    const connection = new Connection(socket, session, { exp: claims.exp, kid }, () => this.clock.now());
    this.byTransport.set(transportOf(socket), connection);
    this.openSockets++;
    const ofSession = this.bySession.get(session.sessionId) ?? new Set();
    this.bySession.set(session.sessionId, ofSession.add(connection));
    this.presence.arrived(session);
    socket.on('disconnect', () => {
      this.close(connection);
      if (transportOf(socket).readyState === 'open') closeSoon(transportOf(socket)); // it left, but kept the transport
    });
    socket.on('authenticate', (body: unknown, ack: unknown) => void this.renew(connection, body, ack));
    this.setDeadline(connection);

    // Between the handshake and this moment the session may have been signed out, or the key withdrawn.
    if (this.endedSessions.includes(session.sessionId)) return connection.end('signed_out');
    if (this.revokedKeys.has(kid)) return connection.end('revoked');
    if (this.stopping) return connection.end('shutdown');
    this.channels.join(connection, from).catch((error: unknown) => {
      this.logger.error({ err: error, msg: 'a channel could not be joined' });
      connection.end('overloaded'); // the client comes back by itself
    });
  }

  /** Ends the connection of a client that sends more than it may. */
  overloaded(transport: Transport): void {
    const connection = this.byTransport.get(transport);
    if (connection) connection.end('overloaded');
    else closeNow(transport); // it has not even connected
  }

  /** Ends all connections: stock clients come back by themselves, to another instance or to this one once it is up. */
  async endAll(): Promise<void> {
    this.stopping = true;
    const all = this.all();
    for (let i = 0; i < all.length; i += ENDED_A_TURN) {
      for (const connection of all.slice(i, i + ENDED_A_TURN)) connection.end('shutdown');
      await nextTurn();
    }
    await Promise.all(all.map((connection) => connection.drained()));
  }

  onApplicationShutdown(): void {
    this.deadlines.stop();
  }

  private release(socket: Socket, userId: string): void {
    const admitted = this.admitted.get(userId);
    admitted?.delete(socket);
    if (admitted?.size === 0) this.admitted.delete(userId);
  }

  private all(): Connection[] {
    return [...this.bySession.values()].flatMap((connections) => [...connections]);
  }

  /** A key is withdrawn once in years, so connections are not indexed by key. */
  private revoke(kid: string): void {
    this.revokedKeys.add(kid);
    for (const connection of this.all()) if (connection.kid === kid) connection.end('revoked');
  }

  private close(connection: Connection): void {
    const { sessionId } = connection.session;
    const ofSession = this.bySession.get(sessionId);
    ofSession?.delete(connection);
    if (ofSession?.size === 0) this.bySession.delete(sessionId);
    this.deadlines.delete(connection);
    this.channels.leave(connection);
    this.presence.left(connection.session);
    this.openSockets--;
    this.events.emit('socket.closed', { reason: connection.closedBy });
  }

  /** @param rest milliseconds until its client may be told that the token is expiring */
  private setDeadline(connection: Connection, rest = 0): void {
    connection.warned = false;
    this.deadlines.set(connection, Math.max(connection.expiresAt - WARN_BEFORE_MS, this.clock.now() + rest));
  }

  private onDeadline(connection: Connection): void {
    const now = this.clock.now();
    if (now >= connection.expiresAt) return connection.end('expired');
    if (connection.position === undefined) return this.deadlines.set(connection, now + NOT_READY_MS);
    if (!connection.warned) connection.tell('token.expiring', { expires_at: rfc3339(connection.expiresAt) });
    connection.warned = true;
    this.deadlines.set(connection, connection.expiresAt);
  }

  /** Answers `authenticate`: the connection goes on, if its new token is good. */
  private async renew(connection: Connection, body: unknown, ack: unknown): Promise<void> {
    if (!connection.isOpen) return;
    const answer = typeof ack === 'function' ? (ack as (answer: object) => void) : () => undefined;
    try {
      this.prolong(connection, await this.renewals.judge(connection, body));
      answer({ expires_at: rfc3339(connection.expiresAt) });
    } catch (error) {
      if (!(error instanceof OAuthError)) this.logger.error({ err: error, msg: 'a token was not renewed' });
      answer((error instanceof OAuthError ? error : toServerError(error)).body);
    }
  }

  /** A token that expires sooner changes nothing (contract §7): answers may overtake each other. */
  private prolong(connection: Connection, { expiresAt, kid }: Renewal): void {
    if (!connection.isOpen || expiresAt < connection.expiresAt) return;
    connection.expiresAt = expiresAt;
    connection.kid = kid;
    // Its client may have had no better token than the one it had shown. It is told again, but not at once, for ever.
    this.setDeadline(connection, Math.min(WARN_AGAIN_MS, (expiresAt - this.clock.now()) / 2));
    if (this.revokedKeys.has(kid)) connection.end('revoked'); // withdrawn while the token was judged
  }
}

function rfc3339(ms: number): string {
  return new Date(ms).toISOString();
}
