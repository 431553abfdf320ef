import { Logger } from '@nestjs/common';
import type { DataSource, EntityManager } from 'typeorm';
import { trim } from '../../channel/channel.history.citus.js';
import type { Settings } from '../../config/settings/settings.js';
import { ConcurrencyLimit } from '../../database/limits.js';
import type { Sql } from '../../database/sql.js';
import { BatchWriter, inOrder, valuesToFind, type BatchRow, type KnownTarget } from './batch-writer.js';
import { FIND_BATCH, LOCK_BATCH } from './push-batch.sql.js';
import type { BatchEvent } from './read-batch.js';

type Result = BatchRow | Error | undefined;

const FIND_SHARDS = {
  name: 'push-batch-shards',
  text: `
    SELECT get_shard_id_for_distribution_column('users', user_id)::text AS shard
    FROM unnest($1::uuid[]) WITH ORDINALITY AS n (user_id, place) ORDER BY place`,
};

// Each is one task on the node of the shard: `users` leads Citus there. Locks are taken in one order.
const COUNT = `
  INSERT INTO channels AS c (user_id, last_offset)
  SELECT u.user_id, n.number FROM unnest($1::uuid[], $2::int[]) AS n (user_id, number)
  JOIN users u ON u.user_id = n.user_id AND u.user_id = ANY($1) ORDER BY u.user_id
  ON CONFLICT (user_id) DO UPDATE SET last_offset = c.last_offset + excluded.last_offset
  RETURNING c.user_id, c.last_offset`;

const STORE = `
  INSERT INTO channel_events AS c (user_id, event_offset, id, event, data, device_id, sent_at, expires_at)
  SELECT u.user_id, event_offset, id, event, data, device_id, $9::timestamptz,
    $9::timestamptz + make_interval(secs => ttl)
  FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::int[]) AS n (user_id, event_offset, id, number_of_event)
  JOIN users u ON u.user_id = n.user_id AND u.user_id = ANY($1)
  JOIN unnest($5::text[], $6::text[], $7::uuid[], $8::int[])
    WITH ORDINALITY AS e (event, data, device_id, ttl, number_of_event) USING (number_of_event)`;

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
