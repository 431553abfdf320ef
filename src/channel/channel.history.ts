import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, In, type EntityManager } from 'typeorm';
import { SETTINGS, type Settings } from '../platform/config/settings/settings.js';
import { DatabaseBusy, ConcurrencyLimit, OneAtATime } from '../platform/database/limits.js';
import { Sql } from '../platform/database/sql.js';
import { Events, type ChannelEvent } from '../platform/events.js';
import { APPEND, appending, LARGEST_TRIM, OWN_EVENTS_TTL, TRIM_EVERY } from './append.sql.js';
import { Channel } from './channel-event.entity.js';
import { FIND_STATE, FIND_STATES } from './channel-state.sql.js';

export { appending, LARGEST_TRIM, OWN_EVENTS_TTL, TRIM_EVERY };

interface HistoryState {
  /** Number of the newest event; 0 before the first. */
  readonly last: number;
  /** Number of events after the offset that are still stored. */
  readonly stored: number;
  /** Id of the event at the offset; null if that event is gone. */
  readonly id: string | null;
  readonly lastId: string | null;
  /** Claims of the user if they have changed since the token was issued, or shortly before; else null. */
  readonly claims: Readonly<Record<string, unknown>> | null;
  /** Time of the query, by the database's clock. */
  readonly at: Date;
}

/** Transaction that may append to channels; listeners are notified of its events after the commit. */
export interface ChannelTransaction {
  readonly manager: EntityManager;
  /**
   * Appends events of the service itself, for all devices of their users: one for each of `data`, in order.
   */
  readonly append: (
    event: string,
    data: readonly (readonly [userId: string, data: object])[],
  ) => Promise<void>;
}

export type UnstoredEvent = Omit<ChannelEvent, 'offset' | 'sentAt'>;

export interface Appended {
  readonly event_offset: string;
  readonly sent_at: Date;
}

/** Event as READ selects it. */
type Row = Omit<ChannelEvent, 'userId' | 'sentAt'> & { readonly data: string; readonly at: Date };

interface Viewpoint {
  readonly userId: string;
  readonly offset: number;
  /** When the token was issued: seconds since the epoch. */
  readonly issuedAt: number;
}

/**
 * Sign-outs are found by the time at which their transaction began, so a late commit is rolled back
 * (docs/ended-sessions.md#a-reader).
 */
const LONGEST_MS = 10 * 60_000;

const PAGE = 100;
/** Size of a page in bytes: limits memory and event-loop time if events have 60 kB each. */
const PAGE_BYTES = 262_144;

const READ = {
  name: 'channel-read',
  text: `
    SELECT id, device_id AS "deviceId", event_offset::float8 AS offset, event, data, sent_at AS at
    FROM (
      SELECT *, sum(octet_length(data)) OVER (ORDER BY event_offset) - octet_length(data) AS bytes_before
      FROM (
        SELECT id, event_offset, event, data, device_id, sent_at FROM channel_events
        WHERE user_id = $1 AND event_offset > $2 AND expires_at > now()
        ORDER BY event_offset LIMIT ${PAGE}
      ) AS page
    ) AS sized
    WHERE bytes_before < ${PAGE_BYTES}
    ORDER BY event_offset`,
};

/**
 * History of each user's channel. It is authoritative; messages between instances are notifications
 * (docs/scaling-out.md#do-you-need-redis).
 */
@Injectable()
export class ChannelHistory {
  private readonly findState: (viewpoint: Viewpoint) => Promise<HistoryState>;
  /** Half of the pool's connections: the others are for requests. */
  private readonly reads: ConcurrencyLimit;
  private readonly queue = new OneAtATime('too many changes of one user');

  constructor(
    private readonly dataSource: DataSource,
    private readonly sql: Sql,
    private readonly events: Events,
    @Inject(SETTINGS) protected readonly settings: Settings,
  ) {
    this.findState = sql.batched('history-state', (viewpoints: Viewpoint[]) => this.findStates(viewpoints));
    this.reads = new ConcurrencyLimit(Math.ceil(settings.databasePoolSize / 2));
    events.on('state.requested', (report) => report({ historyReadsWaiting: this.reads.waiting }));
  }

  /**
   * Does what `transaction` does, for one user: one at a time on this instance, since each waits for the lock
   * of the user with a connection of the pool.
   * @throws DatabaseBusy if too many wait
   */
  transactionOf<Result>(
    userId: string,
    work: (transaction: ChannelTransaction) => Promise<Result>,
  ): Promise<Result> {
    return this.queue.run(userId, () => this.transaction(work));
  }

  /** Runs work in a transaction, and emits the events that it appended after the commit. */
  async transaction<Result>(work: (transaction: ChannelTransaction) => Promise<Result>): Promise<Result> {
    const appended: ChannelEvent[] = [];
    const began = performance.now();
    const result = await this.dataSource.transaction(async (manager) => {
      const append: ChannelTransaction['append'] = async (event, data) => {
        const unstored = { deviceId: null, event };
        const events = data.map(([userId, one]) => ({ ...unstored, id: randomUUID(), userId, data: one }));
        const rows = events.length > 0 ? await this.append(manager, events) : [];
        for (const [i, { event_offset: offset, sent_at: sentAt }] of rows.entries()) {
          appended.push({ ...events[i]!, offset: Number(offset), sentAt: sentAt.toISOString() });
        }
      };
      const done = await work({ manager, append });
      if (performance.now() - began > LONGEST_MS) throw new DatabaseBusy('the transaction took too long');
      return done;
    });
    if (appended.length > 0) this.events.emit('channel.appended', appended);
    return result;
  }

  /** Reads a page of events after an offset, oldest first. `data` is undefined if it is not JSON. */
  read(userId: string, after: number): Promise<ChannelEvent[]> {
    const began = performance.now();
    return this.reads.run(async () => {
      const rows = await this.sql.query<Row>(READ, [userId, after]);
      const page = rows.map((row) => toEvent(userId, row));
      const seconds = (performance.now() - began) / 1000;
      this.events.emit('history.read', { events: page.length, seconds });
      return page;
    });
  }

  /** @param issuedAt of a token; without one the claims do not matter */
  async state(userId: string, offset: number, issuedAt = Infinity): Promise<HistoryState> {
    return this.findState({ userId, offset, issuedAt });
  }

  /** Returns the number of the newest event of each of these users; users without an event are left out. */
  async newest(userIds: readonly string[]): Promise<Map<string, number>> {
    const channels = await this.dataSource.manager
      .createQueryBuilder(Channel, 'channel')
      .select(['channel.userId AS "userId"', 'channel.lastOffset AS last'])
      .where({ userId: In(userIds) })
      .getRawMany<{ userId: string; last: string }>();
    return new Map(channels.map(({ userId, last }) => [userId, Number(last)]));
  }

  private async findStates(viewpoints: Viewpoint[]): Promise<HistoryState[]> {
    const userIds = viewpoints.map(({ userId }) => userId);
    const offsets = viewpoints.map(({ offset }) => offset);
    const times = viewpoints.map(({ issuedAt }) => issuedAt);
    const isOne = viewpoints.length === 1;
    const values = isOne ? [userIds[0], offsets[0], times[0]] : [userIds, offsets, times];
    return this.sql.query<HistoryState>(isOne ? FIND_STATE : FIND_STATES, values);
  }

  /** Appends the service's own events of one name, by one statement. */
  protected async append(manager: EntityManager, events: readonly UnstoredEvent[]): Promise<Appended[]> {
    const [{ event }] = events as [UnstoredEvent];
    const userIds = events.map(({ userId }) => userId);
    const ids = events.map(({ id }) => id);
    const texts = events.map(({ data }) => JSON.stringify(data));
    const { channelHistory } = this.settings;
    return manager.query<Appended[]>(APPEND, [userIds, ids, event, texts, OWN_EVENTS_TTL, channelHistory]);
  }
}

/** Neither JSON that cannot be parsed nor a time of `infinity` may keep a reader from the events after it. */
function toEvent(userId: string, { at, data, ...row }: Row): ChannelEvent {
  try {
    return { ...row, userId, data: JSON.parse(data) as unknown, sentAt: at.toISOString() };
  } catch {
    return { ...row, userId, data: undefined, sentAt: '' };
  }
}
