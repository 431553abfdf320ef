import { Inject, Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { ONLINE_PRESENCE } from '../channel/presence.store.js';
import { SETTINGS, type Settings } from '../platform/config/settings/settings.js';
import { plainArray } from '../platform/database/batching.js';
import { ConcurrencyLimit } from '../platform/database/limits.js';
import { Sql } from '../platform/database/sql.js';
import {
  PushWriter,
  inOrder,
  type LocatedTarget,
  type PushEvent,
  type PushRow,
} from '../realtime/push/push-writer.js';
import { appendInSteps } from './channel.history.js';

type Result = PushRow | Error | undefined;

/** The shard of each user. */
const FIND_SHARDS = {
  name: 'push-shards',
  text: `
    SELECT get_shard_id_for_distribution_column('users', user_id)::text AS shard
    FROM unnest($1::uuid[]) WITH ORDINALITY AS n (user_id, place) ORDER BY place`,
};

/** FIND_TARGETS of users who share a shard, to which `ANY($1)` leads Citus. */
const FIND = {
  name: 'push-targets-on-citus',
  text: `
    SELECT n.place::int, NULL AS event_offset, now() AS sent_at,
      n.online OR EXISTS (
        SELECT FROM ${ONLINE_PRESENCE}
        WHERE p.user_id = u.user_id AND p.user_id = ANY($1) AND (n.device_id IS NULL OR p.device_id = n.device_id)
      ) AS online
    FROM unnest($1::uuid[], $2::uuid[], $3::boolean[])
      WITH ORDINALITY AS n (user_id, device_id, online, place)
    JOIN users u ON u.user_id = n.user_id AND u.user_id = ANY($1)
    WHERE removed_at IS NULL AND (n.device_id IS NULL
      OR EXISTS (SELECT FROM devices d WHERE d.user_id = u.user_id AND d.user_id = ANY($1) AND d.device_id = n.device_id))`,
};

/** FIND with the locks of PUSH. */
const LOCK = `${FIND.text} FOR KEY SHARE OF u`;

/**
 * Writes events on Citus: one transaction for each shard, on its node alone. A shard that fails is the error
 * of its users; all at once in the transaction of an Idempotency-Key.
 */
@Injectable()
export class CitusPushWriter extends PushWriter {
  private readonly logger = new Logger(CitusPushWriter.name);
  /** Half of the pool's connections: the others are for requests. */
  private readonly shards: ConcurrencyLimit;

  // In the order of PushWriter: Nest also applies its `@Inject(SETTINGS)`, by the place of the parameter.
  constructor(
    sql: Sql,
    @Inject(SETTINGS) settings: Pick<Settings, 'channelHistory' | 'databasePoolSize'>,
    private readonly dataSource: DataSource,
  ) {
    super(sql, settings);
    this.shards = new ConcurrencyLimit(Math.ceil(settings.databasePoolSize / 2));
  }

  override async write(
    events: readonly PushEvent[],
    targets: readonly LocatedTarget[],
    manager?: EntityManager,
  ): Promise<Result[]> {
    if (targets.length === 1) return this.writeGroup(events, targets, manager);
    const userIds = targets.map(({ userId }) => userId);
    const rows = await this.sql.query<{ shard: string }>(FIND_SHARDS, [userIds]);
    const shards = new Map<string, LocatedTarget[]>(rows.map(({ shard }) => [shard, []]));
    targets.forEach((target, i) => shards.get(rows[i]!.shard)!.push(target));
    const results = new Map<LocatedTarget, Result>();
    const write = async (group: readonly LocatedTarget[]): Promise<void> => {
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
    groups: readonly (readonly LocatedTarget[])[],
    write: (group: readonly LocatedTarget[]) => Promise<void>,
    results: Map<LocatedTarget, Result>,
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
    events: readonly PushEvent[],
    group: readonly LocatedTarget[],
    manager: EntityManager | undefined,
  ): Promise<Result[]> {
    const isStored = group.some(({ event }) => events[event]!.ttl > 0);
    const values = [
      plainArray(group.map(({ userId }) => userId)),
      plainArray(group.map(({ event }) => events[event]!.deviceId)),
      plainArray(group.map(({ online }) => String(online))),
    ];
    if (!isStored && !manager) return inOrder(group, await this.sql.query(FIND, values));
    if (!manager) return this.dataSource.transaction((own) => this.writeGroup(events, group, own));
    const found = inOrder(group, await manager.query(isStored ? LOCK : FIND.text, values));
    const stored = group.filter(({ event }, i) => found[i] && events[event]!.ttl > 0);
    if (stored.length === 0) return found;
    const rows = stored.map(({ event, ...target }) => ({ ...events[event]!, ...target }));
    const appended = await appendInSteps(manager, rows, this.settings.channelHistory);
    const offsets = new Map(stored.map((target, i) => [target, appended[i]!]));
    return found.map((row, i) => row && { ...row, ...offsets.get(group[i]!) });
  }
}
