import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { plainArray } from '../../platform/database/batching.js';
import { Sql, type Statement } from '../../platform/database/sql.js';
import { FIND_TARGETS, PUSH } from './push.sql.js';

/** Event to push, without its users. */
export interface PushEvent {
  readonly event: string;
  readonly data: unknown;
  /** `data` as JSON. */
  readonly json: string;
  readonly deviceId: string | null;
  /** Seconds for which it is stored; 0: not at all. */
  readonly ttl: number;
}

export interface PushTarget {
  readonly userId: string;
  readonly id: string;
  /** Index of its event. */
  readonly event: number;
}

export type LocatedTarget = PushTarget & {
  /** Whether it has an open socket on this instance. */
  readonly online: boolean;
};

export interface PushRow {
  /** Counts from 1. */
  readonly place: number;
  /** Null with a `ttl` of 0. */
  readonly event_offset: string | null;
  readonly sent_at: Date;
  /** Whether it has an open socket on some instance. */
  readonly online: boolean;
}

type SoughtTarget = Pick<LocatedTarget, 'userId' | 'online'> & Pick<PushEvent, 'deviceId'>;

/** Finds the targets of events, and stores the events. */
@Injectable()
export class PushWriter {
  private readonly findBatched: (target: SoughtTarget) => Promise<PushRow | undefined>;

  constructor(
    protected readonly sql: Sql,
    @Inject(SETTINGS) protected readonly settings: Pick<Settings, 'channelHistory'>,
  ) {
    this.findBatched = sql.batched('push-transient', (targets: SoughtTarget[]) => this.find(targets));
  }

  /**
   * Writes all in one statement; events with a `ttl` of 0 take no lock, and those of concurrent requests are
   * batched.
   * @param manager of a transaction, if any
   * @returns a row for each target; undefined if its user or device does not exist, an error if it failed
   *   alone
   */
  async write(
    events: readonly PushEvent[],
    targets: readonly LocatedTarget[],
    manager?: EntityManager,
  ): Promise<(PushRow | Error | undefined)[]> {
    if (events.every(({ ttl }) => ttl === 0)) {
      const sought = targets.map((target) => ({ ...target, deviceId: events[target.event]!.deviceId }));
      const [first, ...others] = sought;
      if (manager || !first || others.length > 0) return this.find(sought, manager);
      return [await this.findBatched(first)];
    }
    return inOrder(targets, await this.run(PUSH, this.toValues(events, targets), manager));
  }

  private async find(
    targets: readonly SoughtTarget[],
    manager?: EntityManager,
  ): Promise<(PushRow | undefined)[]> {
    const values = [
      plainArray(targets.map(({ userId }) => userId)),
      plainArray(targets.map(({ deviceId }) => deviceId)),
      plainArray(targets.map(({ online }) => String(online))),
    ];
    return inOrder(targets, await this.run(FIND_TARGETS, values, manager));
  }

  private run(statement: Statement, values: unknown[], manager?: EntityManager): Promise<PushRow[]> {
    return manager
      ? manager.query<PushRow[]>(statement.text, values)
      : this.sql.query<PushRow>(statement, values);
  }

  private toValues(events: readonly PushEvent[], targets: readonly LocatedTarget[]): unknown[] {
    return [
      plainArray(targets.map(({ userId }) => userId)),
      plainArray(targets.map(({ id }) => id)),
      plainArray(targets.map(({ event }) => event + 1)),
      plainArray(targets.map(({ online }) => String(online))),
      events.map(({ event }) => event),
      events.map(({ json }) => json),
      events.map(({ deviceId }) => deviceId),
      events.map(({ ttl }) => ttl),
      this.settings.channelHistory,
    ];
  }
}

export function inOrder(targets: readonly unknown[], rows: readonly PushRow[]): (PushRow | undefined)[] {
  const results: (PushRow | undefined)[] = targets.map(() => undefined);
  for (const row of rows) results[row.place - 1] = row;
  return results;
}
