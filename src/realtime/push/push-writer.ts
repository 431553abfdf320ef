import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { type Appended, type UnstoredEvent } from '../../channel/channel.history.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Sql, type Statement } from '../../platform/database/sql.js';
import { FIND_TARGETS, PUSH } from './push.sql.js';

/** `ttl` in seconds; 0: the event is not stored. */
export type PushedEvent = UnstoredEvent & { readonly ttl: number };

/** Result of a push; the offset is null with a `ttl` of 0. */
export type PushRow = Omit<Appended, 'event_offset'> & { readonly event_offset: string | null };

/** Finds the targets of pushes, and stores the events. On Citus, CitusPushWriter is in its place. */
@Injectable()
export class PushWriter {
  private readonly findTarget: (event: PushedEvent) => Promise<PushRow | undefined>;

  constructor(
    private readonly sql: Sql,
    @Inject(SETTINGS) protected readonly settings: Pick<Settings, 'channelHistory'>,
  ) {
    this.findTarget = sql.batched('push-transient', (events: PushedEvent[]) => this.findTargets(events));
  }

  /** @param manager of a transaction, if any @returns undefined if the user or the device does not exist */
  async write(event: PushedEvent, manager?: EntityManager): Promise<PushRow | undefined> {
    if (event.ttl > 0) return this.store(event, manager);
    return manager ? (await this.findTargets([event], manager))[0] : this.findTarget(event);
  }

  protected async store(pushed: PushedEvent, manager?: EntityManager): Promise<PushRow | undefined> {
    const { userId, id, event, data, deviceId, ttl } = pushed;
    const values = [userId, id, event, JSON.stringify(data), deviceId, ttl, this.settings.channelHistory];
    const [row] = await this.run<PushRow>(PUSH, values, manager);
    return row;
  }

  private async findTargets(
    events: readonly PushedEvent[],
    manager?: EntityManager,
  ): Promise<(PushRow | undefined)[]> {
    const values = [events.map(({ userId }) => userId), events.map(({ deviceId }) => deviceId)];
    const rows = await this.run<PushRow & { place: number }>(FIND_TARGETS, values, manager);
    const byPlace = new Map(rows.map((row) => [row.place, row]));
    return events.map((_, i) => byPlace.get(i + 1));
  }

  private run<Row extends object>(
    statement: Statement,
    values: unknown[],
    manager?: EntityManager,
  ): Promise<Row[]> {
    return manager ? manager.query<Row[]>(statement.text, values) : this.sql.query<Row>(statement, values);
  }
}
