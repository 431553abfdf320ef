import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { appendInSteps } from '../../channel/append-in-steps.js';
import { appendEvent } from '../../channel/append.sql.js';
import { IdempotencyStore, type IdempotentRequest } from '../../channel/idempotency.store.js';
import type { Settings } from '../../config/settings/settings.js';
import { SETTINGS } from '../../config/settings/settings.module.js';
import { Sql } from '../../database/statements/sql.js';
import { hasDevice } from '../../device/device.sql.js';
import type { ChannelEvent } from '../../events.js';
import { holdUser, selectUser } from '../../user/user.sql.js';

/** A push as it is stored; `ttl` in seconds. */
export type NewEvent = Omit<ChannelEvent, 'offset' | 'sentAt'> & { readonly ttl: number };

interface Row {
  readonly event_offset: string | null;
  readonly sent_at: Date;
}

const IS_TARGET = `($5::uuid IS NULL OR ${hasDevice('$1', '$5')})`;

/**
 * One statement: the target is looked for, the user's counter locked and raised, and the event stored. With a `ttl` of 0 the
 * target is looked for, and nothing is written. It returns no row where the user or their device does not exist. It spans
 * rooms: each room offers the SQL for its own tables (`*.sql.ts`), and this file puts it together.
 */
const PUSH = {
  name: 'push',
  text: `
    WITH target AS (
      ${holdUser('$1', `$6 > 0 AND ${IS_TARGET}`)}
    ), ${appendEvent({
      userId: '$1',
      id: '$2',
      event: '$3',
      data: '$4',
      deviceId: '$5',
      ttl: '$6',
      history: '$7',
      from: 'target',
    })}
    SELECT event_offset, sent_at FROM channel_event
    UNION ALL
    SELECT NULL, now() FROM (${selectUser('$1', `$6 = 0 AND ${IS_TARGET}`)}) AS unkept`,
};

const IS_TARGET_OF_MANY = `(n.device_id IS NULL OR ${hasDevice('n.user_id', 'n.device_id')})`;

// A push on Citus, in steps (see appendInSteps).
const IS_TARGET_IN_STEPS = `($2::uuid IS NULL OR ${hasDevice('$1', '$2')})`;
const HELD_IN_STEPS = holdUser('$1', IS_TARGET_IN_STEPS);
const UNKEPT_IN_STEPS = `SELECT now() AS sent_at FROM (${selectUser('$1', IS_TARGET_IN_STEPS)}) AS target`;

/** The targets of pushes with a `ttl` of 0, which write nothing: those that came together are looked for together. */
const UNKEPT = {
  name: 'push-unkept',
  text: `
    SELECT n.place::int, now() AS sent_at
    FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS n (user_id, device_id, place)
    CROSS JOIN LATERAL (${selectUser('n.user_id', IS_TARGET_OF_MANY)}) AS target`,
};

@Injectable()
export class PushStore {
  /** When an event that is not kept was sent; undefined when user or device do not exist. */
  private readonly unkept: (event: NewEvent) => Promise<Row | undefined>;

  constructor(
    private readonly sql: Sql,
    private readonly dataSource: DataSource,
    private readonly idempotency: IdempotencyStore,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.unkept = sql.together('push-unkept', (events: NewEvent[]) => this.findTargets(events));
  }

  /** @returns the event with its place in the history; undefined when user or device do not exist. */
  async push(event: NewEvent): Promise<ChannelEvent | undefined> {
    const row = await (this.sql.distributed
      ? this.dataSource.transaction((manager) => this.pushIn(manager, event))
      : this.pushAtOnce(event));
    return row && placed(event, row);
  }

  /**
   * Pushes once for a key.
   * @param answer makes the answer to remember
   * @returns the first answer, or 'other body'; undefined when user or device do not exist, which is not remembered
   */
  async pushOnce<Answer>(
    key: IdempotentRequest,
    event: NewEvent,
    answer: (event: ChannelEvent) => Answer,
  ): Promise<{ answer: Answer; pushed?: ChannelEvent } | 'other body' | undefined> {
    let pushed: ChannelEvent | undefined;
    const done = await this.idempotency.once(key, async (manager) => {
      const row = await this.pushIn(manager, event);
      pushed = row && placed(event, row);
      return pushed && answer(pushed);
    });
    return typeof done === 'object' ? { ...done, ...(pushed && { pushed }) } : done;
  }

  private async findTargets(events: NewEvent[]): Promise<(Row | undefined)[]> {
    const columns = [events.map(({ userId }) => userId), events.map(({ deviceId }) => deviceId)];
    const found = await this.sql.query<{ place: number; sent_at: Date }>(UNKEPT, columns);
    const sentAt = new Map(found.map(({ place, sent_at }) => [place, sent_at]));
    return events.map((_, i) => {
      const sent_at = sentAt.get(i + 1);
      return sent_at && { event_offset: null, sent_at };
    });
  }

  private async pushAtOnce(event: NewEvent): Promise<Row | undefined> {
    if (event.ttl === 0) return this.unkept(event);
    const [row] = await this.sql.query<Row & Record<string, unknown>>(PUSH, this.values(event));
    return row;
  }

  private async pushIn(manager: EntityManager, event: NewEvent): Promise<Row | undefined> {
    if (this.sql.distributed) return this.pushInSteps(manager, event);
    const [row] = await manager.query<Row[]>(PUSH.text, this.values(event));
    return row;
  }

  private async pushInSteps(manager: EntityManager, event: NewEvent): Promise<Row | undefined> {
    const target = [event.userId, event.deviceId];
    if (event.ttl === 0) {
      const [unkept] = await manager.query<{ sent_at: Date }[]>(UNKEPT_IN_STEPS, target);
      return unkept && { ...unkept, event_offset: null };
    }
    const [user] = await manager.query<unknown[]>(HELD_IN_STEPS, target);
    const stored = { ...event, data: JSON.stringify(event.data) };
    return user === undefined ? undefined : appendInSteps(manager, stored, this.settings.channelHistory);
  }

  private values({ userId, id, event, data, deviceId, ttl }: NewEvent): unknown[] {
    return [userId, id, event, JSON.stringify(data), deviceId, ttl, this.settings.channelHistory];
  }
}

function placed({ ttl: _ttl, ...event }: NewEvent, row: Row): ChannelEvent {
  const offset = row.event_offset === null ? null : Number(row.event_offset);
  return { ...event, offset, sentAt: row.sent_at.toISOString() };
}
