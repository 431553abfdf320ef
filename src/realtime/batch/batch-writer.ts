import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { plainArray } from '../../platform/database/batching.js';
import { Sql } from '../../platform/database/sql.js';
import { FIND_BATCH, PUSH_BATCH } from './push-batch.sql.js';
import type { BatchEvent, BatchTarget } from './read-batch.js';

export type KnownTarget = BatchTarget & {
  /** Whether it has an open socket on this instance. */
  readonly online: boolean;
};

export interface BatchRow {
  /** Null with a `ttl` of 0. */
  readonly event_offset: string | null;
  readonly sent_at: Date;
  readonly online: boolean;
}

/** Finds the targets of a batch and stores its events. On Citus, CitusBatchWriter is in its place. */
@Injectable()
export class BatchWriter {
  constructor(
    protected readonly sql: Sql,
    @Inject(SETTINGS) protected readonly settings: Pick<Settings, 'channelHistory'>,
  ) {}

  /**
   * Writes all in one statement.
   * @param manager of a transaction, if any
   * @returns a row for each target; undefined if its user or device does not exist, an error if it failed
   *   alone
   */
  async write(
    events: readonly BatchEvent[],
    targets: readonly KnownTarget[],
    manager?: EntityManager,
  ): Promise<(BatchRow | Error | undefined)[]> {
    const [statement, values] = events.every(({ ttl }) => ttl === 0)
      ? [FIND_BATCH, valuesToFind(events, targets)]
      : [PUSH_BATCH, this.valuesToStore(events, targets)];
    const rows = manager
      ? await manager.query<(BatchRow & { place: number })[]>(statement.text, values)
      : await this.sql.query<BatchRow & { place: number }>(statement, values);
    return inOrder(targets, rows);
  }

  private valuesToStore(events: readonly BatchEvent[], targets: readonly KnownTarget[]): unknown[] {
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

/** Values of FIND_BATCH. */
export function valuesToFind(events: readonly BatchEvent[], targets: readonly KnownTarget[]): unknown[] {
  return [
    plainArray(targets.map(({ userId }) => userId)),
    plainArray(targets.map(({ event }) => events[event]!.deviceId)),
    plainArray(targets.map(({ online }) => String(online))),
  ];
}

/** @param rows each with the place of its target from 1 */
export function inOrder(
  targets: readonly KnownTarget[],
  rows: readonly (BatchRow & { readonly place: number })[],
): (BatchRow | undefined)[] {
  const results: (BatchRow | undefined)[] = targets.map(() => undefined);
  for (const row of rows) results[row.place - 1] = row;
  return results;
}
