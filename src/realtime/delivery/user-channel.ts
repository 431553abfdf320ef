import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { ChannelHistory } from '../../channel/channel.history.js';
import { isDatabaseAway } from '../../platform/errors/database-error.js';
import type { ChannelEvent } from '../../platform/events.js';
import { carries } from '../../identity/claims.js';
import type { Admitted } from '../handshakes/handshake-queue.js';
import type { Connection } from '../socket/connection.js';

const RETRY_MS = 500;
/** No notification is later than this; the database's clock was set back. */
const LATEST_MS = 10_000;

/**
 * Channel of one user on this instance. The order on a socket is the order of the offsets
 * (docs/realtime.md#offsets-nothing-missed-nothing-twice): the next event is delivered directly, and the
 * history is read after any other notification.
 */
export class UserChannel {
  readonly connections = new Set<Connection>();
  private readonly logger = new Logger(UserChannel.name);
  private newest = 0;

  /** @param subscribed resolves when notifications of this user arrive here @param deliver never throws */
  constructor(
    private readonly userId: string,
    private readonly history: ChannelHistory,
    private readonly subscribed: Promise<void>,
    private readonly deliver: (event: ChannelEvent, connections: readonly Connection[]) => void,
  ) {}

  /**
   * Sends `ready` to a connection, then claims newer than its token's, then the events that it missed, then
   * new ones.
   */
  async join(connection: Connection, { from, claims: token }: Admitted): Promise<void> {
    await this.subscribed; // else an event between the reading and the subscription would be missed
    const state = await this.history.state(this.userId, from?.offset ?? 0, token.iat);
    const { last, stored, id, lastId, claims, at } = state;
    if (!connection.isOpen) return;
    // A history that was restored from a backup, or began anew, lacks the client's event or has another one
    // in its place.
    const isOther = from && (from.offset > last || (from.id && id && from.id !== id));
    const resumes = from && !isOther;
    connection.position = resumes ? from.offset : last;
    connection.since = at.getTime();
    connection.emit('ready', {
      user_id: this.userId,
      session_id: connection.session.sessionId,
      device_id: connection.session.deviceId,
      expires_at: new Date(connection.expiresAt).toISOString(),
      offset: connection.position,
      id: resumes ? id : lastId,
      recovered: !from || (!isOther && stored === last - from.offset),
    });
    if (claims && !carries(token, claims)) this.deliver(this.changed(claims, at), [connection]);
    this.reachesTo(last);
  }

  /**
   * The event of a change that one connection may have missed: a page that was opened afterwards, with an
   * older token.
   */
  private changed(claims: object, at: Date): ChannelEvent {
    const event = { id: randomUUID(), userId: this.userId, deviceId: null, offset: null };
    return { ...event, event: 'claims.changed', data: { claims }, sentAt: at.toISOString() };
  }

  /** Delivers a committed event, of this instance or another. */
  receive(event: ChannelEvent): void {
    const { offset } = event;
    if (offset === null) return this.deliverTransient(event);
    const inLine = [...this.connections].filter(
      ({ position, reading, isFull }) => position === offset - 1 && !reading && !isFull,
    );
    for (const connection of inLine) connection.position = offset;
    this.deliver(event, inLine);
    this.reachesTo(offset);
  }

  /**
   * Delivers an event with `ttl` 0 to connections that were ready when it was sent. A client that connected
   * later may have received it from another instance.
   */
  private deliverTransient(event: ChannelEvent): void {
    const sentAt = Date.parse(event.sentAt);
    const ready = [...this.connections].filter(
      ({ position, since }) => position !== undefined && (sentAt >= since || sentAt < since - LATEST_MS),
    );
    for (const connection of ready) if (connection.isFull) connection.end('overloaded');
    this.deliver(event, ready);
  }

  /** Reads the history up to an offset for the connections behind it, once for each position. */
  reachesTo(offset: number): void {
    this.newest = Math.max(this.newest, offset);
    const behind = new Map<number, Connection[]>();
    for (const connection of this.connections) {
      const { position, reading } = connection;
      if (position === undefined || position >= this.newest || reading) continue;
      behind.set(position, [...(behind.get(position) ?? []), connection]);
    }
    for (const [position, group] of behind) void this.replay(group, position);
  }

  /** Delivers the history beyond `position`, as fast as the clients read. Never rejects. */
  private async replay(group: Connection[], position: number): Promise<void> {
    for (const connection of group) connection.reading = true;
    try {
      while (position < this.newest && group.some(({ isOpen }) => isOpen)) {
        const target = this.newest;
        const events = await this.retry(() => this.history.read(this.userId, position));
        for (const event of events ?? []) {
          if (group.length > 1) group = this.withoutFull(group, position);
          else if (group[0]?.isFull) await group[0].drained();
          this.deliver(event, group);
          position = event.offset!;
        }
        // After an empty page, what is missing up to `target` has expired, or is of another history.
        if (events?.length === 0 && position < target) {
          const end = await this.retry(() => this.findEnd());
          if (end !== undefined && end >= target) position = target;
        }
        for (const connection of group) connection.position = position;
      }
    } catch (error) {
      if (group.some(({ isOpen }) => isOpen))
        this.logger.error({ err: error, msg: 'a history could not be read' });
      for (const connection of group) connection.end('overloaded'); // the clients reconnect, and resume
    } finally {
      for (const connection of group) connection.reading = false; // in the tick in which the loop ended
    }
  }

  /** Continues alone for each client that reads slowly. @returns the other connections */
  private withoutFull(group: readonly Connection[], position: number): Connection[] {
    for (const connection of group) {
      if (!connection.isFull) continue;
      connection.position = position;
      void this.replay([connection], position);
    }
    return group.filter(({ isFull }) => !isFull);
  }

  /**
   * Reads the latest offset, which may be lower than before: a removed user who signs in again has a new
   * history.
   */
  private async findEnd(): Promise<number> {
    this.newest = 0; // notifications that arrive from now on count
    const { last } = await this.history.state(this.userId, 0);
    this.reachesTo(last);
    return last;
  }

  /** Retries while the database is away. @returns undefined if no connection is left */
  private async retry<Answer>(ask: () => Promise<Answer>): Promise<Answer | undefined> {
    while (this.connections.size > 0) {
      try {
        return await ask();
      } catch (error) {
        if (!isDatabaseAway(error)) throw error;
        await delay(RETRY_MS, undefined, { ref: false });
      }
    }
    return undefined;
  }
}
