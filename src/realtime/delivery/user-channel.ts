import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Settings } from '../../config/settings/settings.js';
import { SETTINGS } from '../../config/settings/settings.module.js';
import { isDatabaseAway } from '../../errors/database-error.js';
import { Events, type ChannelEvent } from '../../events.js';
import type { Connection } from '../socket/connection.js';
import type { Delivery } from './delivery.js';
import type { ResumePoint } from '../admission/handshake.js';
import { ChannelHistory, type HistoryState } from '../../channel/channel.history.js';

/** Reads histories for channels: as many pages at a time as half of the pool, so that requests have room beside catch-up. */
@Injectable()
export class HistoryReads {
  private readonly most: number;
  private running = 0;
  /** Reads that wait to begin, one for each open connection at most. */
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly history: ChannelHistory,
    private readonly events: Events,
    @Inject(SETTINGS) { databasePoolSize }: Settings,
  ) {
    this.most = Math.ceil(databasePoolSize / 2);
    events.on('state.asked', (tell) => tell({ historyReadsWaiting: this.waiting.size }));
  }

  state(userId: string, offset: number): Promise<HistoryState> {
    return this.history.state(userId, offset);
  }

  async read(userId: string, after: number, limit: number): Promise<ChannelEvent[]> {
    const began = performance.now();
    if (this.running < this.most) this.running++;
    else await new Promise<void>((begin) => this.waiting.add(begin));
    try {
      const page = await this.history.read(userId, after, limit);
      this.events.emit('history.read', {
        events: page.length,
        seconds: (performance.now() - began) / 1000,
      });
      return page;
    } finally {
      const [next] = this.waiting;
      if (next) {
        this.waiting.delete(next);
        next(); // takes this one's place
      } else this.running--;
    }
  }
}

const PAGE = 100;
const RETRY_MS = 500;
/** A notification is hardly ever as late as this: the database's clock was set back, or is another server's. */
const LATEST_MS = 10_000;

/**
 * One user's channel on this instance: who listens, and up to which offset each has been given the history.
 *
 * The next event in line is delivered as it is; a later one, or a notification of another instance, causes a read of the history.
 * So the order on a socket is the order of the offsets.
 */
export class UserChannel {
  readonly connections = new Set<Connection>();
  private readonly logger = new Logger(UserChannel.name);
  /** The history is known to reach up to here. */
  private newest = 0;

  constructor(
    private readonly userId: string,
    private readonly history: Pick<HistoryReads, 'state' | 'read'>,
    /** Resolves when notifications of this user arrive here. */
    private readonly subscribed: Promise<void>,
    private readonly delivery: Delivery,
  ) {}

  /**
   * Lets a connection listen: it gets `ready` first, then the events that it missed, in order, then new ones.
   * @param from the last event that the client has; undefined: it begins with new events
   */
  async join(connection: Connection, from: ResumePoint | undefined): Promise<void> {
    await this.subscribed; // from now on no event can be missed between history and notifications
    const { last, kept, id, lastId, at } = await this.history.state(this.userId, from?.offset ?? 0);
    if (!connection.isOpen) return;
    // The client knows another history: its offset is not reached yet, or the event there is not the one that it has.
    const isOther = from && (from.offset > last || (from.id && id && from.id !== id));
    const goesOn = from && !isOther;
    connection.position = goesOn ? from.offset : last;
    connection.since = at;
    connection.tell('ready', {
      user_id: this.userId,
      session_id: connection.session.sessionId,
      device_id: connection.session.deviceId,
      expires_at: new Date(connection.expiresAt).toISOString(),
      offset: connection.position,
      id: goesOn ? id : lastId,
      recovered: !from || (!isOther && kept === last - from.offset),
    });
    this.reachesTo(last);
  }

  /** Takes an event that was committed, here or elsewhere. */
  receive(event: ChannelEvent): void {
    const { offset } = event;
    if (offset === null) return this.deliverUnkept(event);
    const inLine = [...this.connections].filter(
      ({ position, reading, isFull }) => position === offset - 1 && !reading && !isFull,
    );
    for (const connection of inLine) connection.position = offset;
    this.delivery.deliver(event, inLine);
    this.reachesTo(offset);
  }

  /**
   * An event that is not kept cannot wait: neither for `ready` nor for a client that reads too slowly. It is for those who were there
   * when it was sent (contract §4): whoever came later may have had it on another instance, and would get it twice (§7).
   */
  private deliverUnkept(event: ChannelEvent): void {
    const sentAt = Date.parse(event.sentAt);
    const ready = [...this.connections].filter(
      ({ position, since }) => position !== undefined && (sentAt >= since || sentAt < since - LATEST_MS),
    );
    for (const connection of ready) if (connection.isFull) connection.end('overloaded'); // it comes back by itself
    this.delivery.deliver(event, ready);
  }

  /** The history reaches up to an offset: connections behind it get the rest. Those at one position share the reading. */
  reachesTo(offset: number): void {
    this.newest = Math.max(this.newest, offset);
    const behind = new Map<number, Connection[]>();
    for (const connection of this.connections) {
      const { position, reading } = connection;
      if (position === undefined || position >= this.newest || reading) continue;
      behind.set(position, [...(behind.get(position) ?? []), connection]);
    }
    for (const [position, group] of behind) void this.replay(group, position); // never rejects
  }

  /** Delivers the history beyond `position` to connections that are there, as fast as they read, until they have all of it. */
  private async replay(group: Connection[], position: number): Promise<void> {
    for (const connection of group) connection.reading = true;
    try {
      while (position < this.newest && group.some(({ isOpen }) => isOpen)) {
        const target = this.newest;
        const events = await this.untilAnswered(() => this.history.read(this.userId, position, PAGE));
        for (const event of events ?? []) {
          if (group.length > 1) group = this.withoutFull(group, position);
          else if (group[0]?.isFull) await group[0].drained();
          this.delivery.deliver(event, group);
          position = event.offset!;
        }
        // After an empty page, what is missing up to `target` has expired, or is of another history.
        if (events?.length === 0 && position < target) {
          const end = await this.untilAnswered(() => this.findEnd());
          if (end !== undefined && end >= target) position = target;
        }
        for (const connection of group) connection.position = position;
      }
    } catch (error) {
      this.comeBack(group, error);
    } finally {
      for (const connection of group) connection.reading = false; // in the turn in which the loop ended: no event can come between
    }
  }

  /** A connection whose client reads slowly continues alone, so that the others need not wait. */
  private withoutFull(group: readonly Connection[], position: number): Connection[] {
    for (const connection of group) {
      if (!connection.isFull) continue;
      connection.position = position;
      void this.replay([connection], position);
    }
    return group.filter(({ isFull }) => !isFull);
  }

  /**
   * Asks where the history ends. That may be below what was known: a user who was removed, and signs in again, begins a new
   * one, while sockets and notifications of the old one still exist.
   */
  private async findEnd(): Promise<number> {
    this.newest = 0; // what arrives from now on counts
    const { last } = await this.history.state(this.userId, 0);
    this.reachesTo(last);
    return last;
  }

  /** Ends connections after an error: their clients come back by themselves, and go on in the history where they were. */
  private comeBack(connections: readonly Connection[], error: unknown): void {
    const open = connections.filter(({ isOpen }) => isOpen);
    if (open.length > 0) this.logger.error({ err: error, msg: 'a history could not be read' });
    for (const connection of open) connection.end('overloaded');
  }

  /** While the database is away nothing is delivered; undefined once nobody is left to deliver to. */
  private async untilAnswered<Answer>(ask: () => Promise<Answer>): Promise<Answer | undefined> {
    while (this.connections.size > 0) {
      try {
        return await ask();
      } catch (error) {
        if (!isDatabaseAway(error)) throw error; // trying again would not help
        await delay(RETRY_MS, undefined, { ref: false });
      }
    }
    return undefined;
  }
}
