import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { SETTINGS, type Settings } from '../config/settings/settings.js';
import { DatabaseBusy, ConcurrencyLimit, OneAtATime } from '../database/limits.js';
import { Sql } from '../database/sql.js';
import { Events, type ChannelEvent } from '../events.js';
import { claimsSince } from '../user/user.sql.js';
import { appendInSteps, type Appended } from './append-in-steps.js';
import { LARGEST_TRIM, OWN_EVENTS_TTL, TRIM_EVERY } from './append.sql.js';

interface HistoryState {
  /** Number of the newest event; 0 before the first. */
  readonly last: number;
  /** Number of events after the offset that are still stored. */
  readonly kept: number;
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
  /** Appends events of the service itself, for all of the user's devices: one for each of `data`, in this order. */
  readonly append: (userId: string, event: string, data: readonly object[]) => Promise<void>;
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

// By the last offset that TRIM_EVERY divides. Events below the bound are not stored.
const BOUND = `last_offset - last_offset % ${TRIM_EVERY} - $6`;
/** Appends events of one name (ids `$2`, JSON texts `$4`) to one history in their order, as APPEND_TO_TARGET appends one. */
const APPEND = `
  WITH counter AS (
    INSERT INTO channels AS c (user_id, last_offset) VALUES ($1, cardinality($2::uuid[]))
    ON CONFLICT (user_id) DO UPDATE SET last_offset = c.last_offset + excluded.last_offset
    RETURNING last_offset, last_offset - cardinality($2::uuid[]) AS before
  ), channel_event AS (
    INSERT INTO channel_events (user_id, event_offset, id, event, data, device_id, sent_at, expires_at)
    SELECT $1, before + place, id, $3, data, NULL, now(), now() + make_interval(secs => $5)
    FROM counter, unnest($2::uuid[], $4::text[]) WITH ORDINALITY AS n (id, data, place)
    WHERE before + place >= ${BOUND}
  ), trimmed AS (
    DELETE FROM channel_events
    WHERE user_id = $1 AND event_offset < (
      SELECT least(${BOUND}, (SELECT min(event_offset) + ${LARGEST_TRIM} FROM channel_events WHERE user_id = $1))
      FROM counter WHERE last_offset / ${TRIM_EVERY} > before / ${TRIM_EVERY})
  )
  SELECT before + place AS event_offset, now() AS sent_at FROM counter, generate_series(1, last_offset - before) AS place
  ORDER BY place`;

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

// `pg` reads `float8` as a number, unlike `bigint`. It spans modules: a handshake is to need no statement for claims.
const selectState = (userId: string, after: string, issuedAt: string): string => `
    SELECT now() AS at, coalesce(last_offset, 0)::float8 AS last,
      (SELECT count(*)::float8 FROM channel_events e
        WHERE e.user_id = ${userId} AND event_offset > ${after} AND expires_at > now()) AS kept,
      (SELECT id FROM channel_events e WHERE e.user_id = ${userId} AND event_offset = ${after}) AS id,
      (SELECT id FROM channel_events e WHERE e.user_id = ${userId} AND event_offset = last_offset) AS "lastId",
      ${claimsSince(userId, issuedAt)} AS claims`;

const STATE = {
  name: 'channel-state',
  text: `${selectState('$1', '$2', '$3::float8')}
    FROM (SELECT) AS one LEFT JOIN channels ON user_id = $1`,
};

const STATES = {
  name: 'channel-states',
  text: `${selectState('n.user_id', 'n.after', 'n.issued_at')}
    FROM unnest($1::uuid[], $2::bigint[], $3::float8[]) WITH ORDINALITY AS n (user_id, after, issued_at, place)
    LEFT JOIN channels c ON c.user_id = n.user_id
    ORDER BY place`,
};

const NEWEST = {
  name: 'channel-newest',
  text: 'SELECT user_id AS "userId", last_offset::float8 AS last FROM channels WHERE user_id = ANY ($1::uuid[])',
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
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.findState = sql.batched('history-state', (viewpoints: Viewpoint[]) => this.findStates(viewpoints));
    this.reads = new ConcurrencyLimit(Math.ceil(settings.databasePoolSize / 2));
    events.on('state.requested', (report) => report({ historyReadsWaiting: this.reads.waiting }));
  }

  /**
   * Does what `transaction` does, for one user: one at a time on this instance, since each waits for the lock of the user with a
   * connection of the pool.
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
      const done = await work({
        manager,
        append: async (userId, event, data) => {
          if (data.length > 0) appended.push(...(await this.append(manager, userId, event, data)));
        },
      });
      if (performance.now() - began > LONGEST_MS) throw new DatabaseBusy('the transaction took too long');
      return done;
    });
    for (const event of appended) this.events.emit('channel.appended', event);
    return result;
  }

  /** Reads a page of events after an offset, oldest first. `data` is undefined if it is not JSON: that event is undeliverable. */
  read(userId: string, after: number): Promise<ChannelEvent[]> {
    const began = performance.now();
    return this.reads.run(async () => {
      const rows = await this.sql.query<Row>(READ, [userId, after]);
      const page = rows.map((row) => eventOf(userId, row));
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
    const rows = await this.sql.query<{ userId: string; last: number }>(NEWEST, [userIds]);
    return new Map(rows.map(({ userId, last }) => [userId, last]));
  }

  private async findStates(viewpoints: Viewpoint[]): Promise<HistoryState[]> {
    const userIds = viewpoints.map(({ userId }) => userId);
    const offsets = viewpoints.map(({ offset }) => offset);
    const times = viewpoints.map(({ issuedAt }) => issuedAt);
    return viewpoints.length === 1
      ? this.sql.query<HistoryState>(STATE, [userIds[0], offsets[0], times[0]])
      : this.sql.query<HistoryState>(STATES, [userIds, offsets, times]);
  }

  private async append(
    manager: EntityManager,
    userId: string,
    event: string,
    data: readonly object[],
  ): Promise<ChannelEvent[]> {
    const { channelHistory } = this.settings;
    const events = data.map((one) => ({ id: randomUUID(), userId, deviceId: null, event, data: one }));
    let rows: Appended[] = [];
    if (this.sql.distributed) {
      for (const one of events) {
        const json = { ...one, data: JSON.stringify(one.data), ttl: OWN_EVENTS_TTL };
        rows.push(await appendInSteps(manager, json, channelHistory));
      }
    } else {
      const ids = events.map(({ id }) => id);
      const texts = data.map((one) => JSON.stringify(one));
      rows = await manager.query(APPEND, [userId, ids, event, texts, OWN_EVENTS_TTL, channelHistory]);
    }
    return events.map((one, i) => {
      const { event_offset, sent_at } = rows[i]!;
      return { ...one, offset: Number(event_offset), sentAt: sent_at.toISOString() };
    });
  }
}

/** Neither JSON that cannot be parsed nor a time of `infinity` may keep a reader from the events after it. */
function eventOf(userId: string, { at, data, ...row }: Row): ChannelEvent {
  try {
    return { ...row, userId, data: JSON.parse(data) as unknown, sentAt: at.toISOString() };
  } catch {
    return { ...row, userId, data: undefined, sentAt: '' };
  }
}
