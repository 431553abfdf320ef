import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Settings } from '../config/settings/settings.js';
import { SETTINGS } from '../config/settings/settings.module.js';
import { DatabaseBusy } from '../database/database-busy.js';
import { Sql } from '../database/statements/sql.js';
import { Events, type ChannelEvent } from '../events.js';
import { appendInSteps } from './append-in-steps.js';
import { appendAll, OWN_EVENTS_TTL } from './append.sql.js';

/** Where a user's history stands, seen from an offset. */
export interface HistoryState {
  /** The number of the newest event; 0 before the first. */
  readonly last: number;
  /** How many events after the offset are still kept. */
  readonly kept: number;
  /** The event at the offset, and the newest one; null where they are gone. */
  readonly id: string | null;
  readonly lastId: string | null;
  /** When that was; milliseconds since the epoch, by the database's clock. */
  readonly at: number;
}

/** A transaction that may append to channels; what it appended is told once it is committed. */
export interface ChannelTransaction {
  readonly manager: EntityManager;
  /** Appends events of the service itself, for all of the user's devices: one for each of `data`, in this order. */
  readonly append: (userId: string, event: string, data: readonly object[]) => Promise<void>;
}

interface Row {
  readonly id: string;
  readonly event_offset: string;
  readonly event: string;
  readonly data: string;
  readonly device_id: string | null;
  readonly sent_at: Date;
}

type Place = Pick<Row, 'event_offset' | 'sent_at'>;

/** A sign-out is found by the time at which its transaction began, so it is not committed much later (contract §8). */
const LONGEST_MS = 10 * 60_000;
const TOO_LATE = 'the transaction took too long';

const APPEND = `
  WITH ${appendAll({ userId: '$1', ids: '$2', event: '$3', data: '$4', ttl: '$5', history: '$6' })}
  SELECT before + place AS event_offset, now() AS sent_at FROM counter, generate_series(1, last_offset - before) AS place
  ORDER BY place`;

type StateRow = Pick<HistoryState, 'id' | 'lastId'> & {
  readonly last: string;
  readonly kept: string;
  readonly at: Date;
};

// Both are asked whenever a socket connects or catches up: named statements.
/** Bytes after which a page ends, so that events of 60 kB do not fill the memory, or the event loop, for one user. */
const PAGE_BYTES = 262_144;

const READ = {
  name: 'channel-read',
  text: `
    SELECT id, event_offset, event, data, device_id, sent_at
    FROM (
      SELECT *, sum(octet_length(data)) OVER (ORDER BY event_offset) - octet_length(data) AS bytes_before
      FROM (
        SELECT id, event_offset, event, data, device_id, sent_at FROM channel_events
        WHERE user_id = $1 AND event_offset > $2 AND expires_at > now()
        ORDER BY event_offset LIMIT $3
      ) AS page
    ) AS sized
    WHERE bytes_before < ${PAGE_BYTES}
    ORDER BY event_offset`,
};

// One statement, so that all are of the same moment.
const STATE = {
  name: 'channel-state',
  text: `
    SELECT now() AS at, coalesce(last_offset, 0) AS last,
      (SELECT count(*) FROM channel_events WHERE user_id = $1 AND event_offset > $2 AND expires_at > now()) AS kept,
      (SELECT id FROM channel_events WHERE user_id = $1 AND event_offset = $2) AS id,
      (SELECT id FROM channel_events WHERE user_id = $1 AND event_offset = last_offset) AS "lastId"
    FROM (SELECT) AS one LEFT JOIN channels ON user_id = $1`,
};

// Asked every few seconds, of all who are connected.
const NEWEST = {
  name: 'channel-newest',
  text: 'SELECT user_id AS "userId", last_offset AS last FROM channels WHERE user_id = ANY ($1::uuid[])',
};

// The same of many channels, for sockets that come back together.
const STATES = {
  name: 'channel-states',
  text: `
    SELECT now() AS at, coalesce(last_offset, 0) AS last,
      (SELECT count(*) FROM channel_events e
        WHERE e.user_id = n.user_id AND event_offset > n.after AND expires_at > now()) AS kept,
      (SELECT id FROM channel_events e WHERE e.user_id = n.user_id AND event_offset = n.after) AS id,
      (SELECT id FROM channel_events e WHERE e.user_id = n.user_id AND event_offset = last_offset) AS "lastId"
    FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS n (user_id, after, place)
    LEFT JOIN channels c ON c.user_id = n.user_id
    ORDER BY place`,
};

interface Viewpoint {
  readonly userId: string;
  readonly offset: number;
}

/** The history of each user's channel: what it says is the truth, whatever travels between instances (contract §7). */
@Injectable()
export class ChannelHistory {
  private readonly stateOf: (viewpoint: Viewpoint) => Promise<HistoryState>;

  constructor(
    private readonly dataSource: DataSource,
    private readonly sql: Sql,
    private readonly events: Events,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.stateOf = sql.together('history-state', (viewpoints: Viewpoint[]) => this.states(viewpoints));
  }

  /** Runs work in a transaction, and tells of the events that it appended once they are committed. */
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
      if (performance.now() - began > LONGEST_MS) throw new DatabaseBusy(TOO_LATE);
      return done;
    });
    for (const event of appended) this.events.emit('channel.appended', event);
    return result;
  }

  /**
   * Events after an offset, oldest first, `limit` at most. `data` is undefined where a row cannot be read: nobody can be
   * given that event, and its number is jumped over.
   */
  async read(userId: string, after: number, limit: number): Promise<ChannelEvent[]> {
    const rows = await this.sql.query<Row>(READ, [userId, after, limit]);
    return rows.map((row) => eventOf(userId, row));
  }

  /** Where the history stands, seen from an offset. What is asked together shares one statement. */
  async state(userId: string, offset: number): Promise<HistoryState> {
    return this.stateOf({ userId, offset });
  }

  private async states(viewpoints: Viewpoint[]): Promise<HistoryState[]> {
    if (viewpoints.length === 1) return [await this.stateAt(viewpoints[0]!)];
    const [userIds, offsets] = [
      viewpoints.map(({ userId }) => userId),
      viewpoints.map(({ offset }) => offset),
    ];
    return (await this.sql.query<StateRow>(STATES, [userIds, offsets])).map(stateOf);
  }

  private async stateAt({ userId, offset }: Viewpoint): Promise<HistoryState> {
    const [row] = await this.sql.query<StateRow>(STATE, [userId, offset]);
    return stateOf(row!);
  }

  /** The number of the newest event of each of these users; those without any event are left out. */
  async newest(userIds: readonly string[]): Promise<Map<string, number>> {
    const rows = await this.sql.query<{ userId: string; last: string }>(NEWEST, [userIds]);
    return new Map(rows.map(({ userId, last }) => [userId, Number(last)]));
  }

  private async append(
    manager: EntityManager,
    userId: string,
    event: string,
    data: readonly object[],
  ): Promise<ChannelEvent[]> {
    const { channelHistory } = this.settings;
    const events = data.map((one) => ({ id: randomUUID(), text: JSON.stringify(one) }));
    const places: Place[] = [];
    if (this.sql.distributed) {
      for (const { id, text } of events) {
        const one = { userId, id, event, data: text, deviceId: null, ttl: OWN_EVENTS_TTL };
        places.push(await appendInSteps(manager, one, channelHistory));
      }
    } else {
      const [ids, texts] = [events.map(({ id }) => id), events.map(({ text }) => text)];
      places.push(
        ...(await manager.query<Place[]>(APPEND, [
          userId,
          ids,
          event,
          texts,
          OWN_EVENTS_TTL,
          channelHistory,
        ])),
      );
    }
    return places.map(({ event_offset: offset, sent_at: sentAt }, i) => ({
      id: events[i]!.id,
      userId,
      deviceId: null,
      offset: Number(offset),
      event,
      data: data[i],
      sentAt: sentAt.toISOString(),
    }));
  }
}

/** A row may be of another version, or have been written by somebody else. */
function eventOf(userId: string, row: Row): ChannelEvent {
  const { id, event, device_id: deviceId } = row;
  const place = { id, userId, deviceId, offset: Number(row.event_offset), event };
  try {
    return { ...place, data: JSON.parse(row.data) as unknown, sentAt: row.sent_at.toISOString() };
  } catch {
    return { ...place, data: undefined, sentAt: '' };
  }
}

function stateOf(row: StateRow): HistoryState {
  return { ...row, last: Number(row.last), kept: Number(row.kept), at: row.at.getTime() };
}
