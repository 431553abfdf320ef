import { Logger } from '@nestjs/common';
import type { DataSource, EntityManager } from 'typeorm';
import { trim } from '../../channel/channel.history.citus.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import { ConcurrencyLimit } from '../../platform/database/limits.js';
import type { Sql } from '../../platform/database/sql.js';
import { BatchWriter, inOrder, valuesToFind, type BatchRow, type KnownTarget } from './batch-writer.js';
import { COUNT, FIND_BATCH, FIND_SHARDS, LOCK_BATCH, STORE } from './push-batch.sql.js';
import type { BatchEvent } from './read-batch.js';

type Result = BatchRow | Error | undefined;

/**
 * Writes a batch on Citus: one transaction for each shard, on its node alone. A shard that fails is the error
 * of its users; all at once in the transaction of an Idempotency-Key.
 */
export class CitusBatchWriter extends BatchWriter {
  private readonly logger = new Logger(CitusBatchWriter.name);
  /** Half of the pool's connections: the others are for requests. */
  private readonly shards: ConcurrencyLimit;

  constructor(
    private readonly dataSource: DataSource,
    sql: Sql,
    settings: Pick<Settings, 'channelHistory' | 'databasePoolSize'>,
  ) {
    super(sql, settings);
    this.shards = new ConcurrencyLimit(Math.ceil(settings.databasePoolSize / 2));
  }

  override async write(
    events: readonly BatchEvent[],
    targets: readonly KnownTarget[],
    manager?: EntityManager,
  ): Promise<Result[]> {
    const userIds = targets.map(({ userId }) => userId);
    const rows = await this.sql.query<{ shard: string }>(FIND_SHARDS, [userIds]);
    const shards = new Map<string, KnownTarget[]>(rows.map(({ shard }) => [shard, []]));
    targets.forEach((target, i) => shards.get(rows[i]!.shard)!.push(target));
    const results = new Map<KnownTarget, Result>();
    const write = async (group: readonly KnownTarget[]): Promise<void> => {
      const written = await this.writeGroup(events, group, manager);
      group.forEach((target, i) => results.set(target, written[i]));
    };
    const groups = [...shards].toSorted(([one], [other]) => Number(one) - Number(other));
    if (manager) for (const [, group] of groups) await write(group);
    else
      await this.writeEach(
        groups.map(([, group]) => group),
        write,
        results,
      );
    return targets.map((target) => results.get(target));
  }

  /** @throws the error of all shards */
  private async writeEach(
    groups: readonly (readonly KnownTarget[])[],
    write: (group: readonly KnownTarget[]) => Promise<void>,
    results: Map<KnownTarget, Result>,
  ): Promise<void> {
    const failed = await Promise.all(
      groups.map(async (group) => {
        try {
          await this.shards.run(() => write(group));
          return [];
        } catch (error) {
          for (const target of group) results.set(target, error as Error);
          return [error];
        }
      }),
    );
    const errors = failed.flat();
    if (errors.length === groups.length) throw errors[0];
    if (errors.length > 0) this.logger.warn({ err: errors[0], msg: 'events of some users were not stored' });
  }

  private async writeGroup(
    events: readonly BatchEvent[],
    group: readonly KnownTarget[],
    manager: EntityManager | undefined,
  ): Promise<Result[]> {
    const isStored = group.some(({ event }) => events[event]!.ttl > 0);
    const values = valuesToFind(events, group);
    if (!isStored && !manager) return inOrder(group, await this.sql.query(FIND_BATCH, values));
    if (!manager) return this.dataSource.transaction((own) => this.writeGroup(events, group, own));
    const statement = isStored ? LOCK_BATCH : FIND_BATCH;
    const found = inOrder(group, await manager.query(statement.text, values));
    return isStored ? this.store(events, group, found, manager) : found;
  }

  private async store(
    events: readonly BatchEvent[],
    group: readonly KnownTarget[],
    found: readonly (BatchRow | undefined)[],
    manager: EntityManager,
  ): Promise<Result[]> {
    const stored = group.filter(({ event }, i) => found[i] && events[event]!.ttl > 0);
    if (stored.length === 0) return [...found];
    const numbers = new Map<string, number>();
    for (const { userId } of stored) numbers.set(userId, (numbers.get(userId) ?? 0) + 1);
    const counted = await manager.query<{ user_id: string; last_offset: string }[]>(COUNT, [
      [...numbers.keys()],
      [...numbers.values()],
    ]);
    const next = new Map(
      counted.map(({ user_id: id, last_offset: last }) => [id, Number(last) - numbers.get(id)!]),
    );
    const offsets = stored.map(({ userId }) => {
      next.set(userId, next.get(userId)! + 1);
      return next.get(userId)!;
    });
    await manager.query(STORE, [
      stored.map(({ userId }) => userId),
      offsets,
      stored.map(({ id }) => id),
      stored.map(({ event }) => event + 1),
      events.map(({ event }) => event),
      events.map(({ json }) => json),
      events.map(({ deviceId }) => deviceId),
      events.map(({ ttl }) => ttl),
      found.find((row) => row)!.sent_at,
    ]);
    for (const [userId, number] of numbers) {
      const last = next.get(userId)!;
      await trim(manager, userId, { before: last - number, last }, this.settings.channelHistory);
    }
    const offsetOf = new Map(stored.map((target, i) => [target, String(offsets[i]!)]));
    return found.map((row, i) => row && { ...row, event_offset: offsetOf.get(group[i]!) ?? null });
  }
}
