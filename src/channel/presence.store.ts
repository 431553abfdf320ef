import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, Raw, type Repository } from 'typeorm';
import { Sql } from '../platform/database/sql.js';
import type { SessionIds } from '../platform/events.js';
import { Instance, Presence } from './presence.entity.js';

/** Stands for "no device" in the table's key. */
const NO_DEVICE = '00000000-0000-0000-0000-000000000000';

/** Seconds without a heartbeat after which an instance counts as gone. It sends one every ten seconds. */
const GONE_AFTER_S = 30;

/** Join of presence and its living instances. */
export const ONLINE_PRESENCE = `
    presence p JOIN instances i
      ON i.instance_id = p.instance_id AND i.seen_at > now() - make_interval(secs => ${GONE_AFTER_S})`;

/** A user's device, or null: the user's sessions without a device. */
export type UserDevice = Omit<SessionIds, 'sessionId'>;

// Raw: one short statement for a thousand devices.
const ARRIVE = {
  name: 'presence-arrive',
  text: `
    INSERT INTO presence (user_id, device_id, instance_id)
    SELECT user_id, device_id, $1 FROM unnest($2::uuid[], $3::uuid[]) AS p (user_id, device_id)
    ON CONFLICT DO NOTHING`,
};
const LEAVE = {
  name: 'presence-leave',
  text: `
    DELETE FROM presence p USING unnest($2::uuid[], $3::uuid[]) AS gone (user_id, device_id)
    WHERE p.user_id = gone.user_id AND p.device_id = gone.device_id AND p.instance_id = $1`,
};
// Raw: on the path of each push.
const ONLINE = {
  name: 'presence-online',
  text: `SELECT DISTINCT 1 AS place, p.device_id FROM ${ONLINE_PRESENCE} WHERE p.user_id = $1`,
};
const ONLINE_OF_MANY = {
  name: 'presence-online-of-many',
  text: `
    SELECT DISTINCT n.place::int, p.device_id
    FROM unnest($1::uuid[]) WITH ORDINALITY AS n (user_id, place)
    JOIN (${ONLINE_PRESENCE}) ON p.user_id = n.user_id`,
};

/** Instances that were silent so long that their rows are removed. */
const SILENT = { seenAt: Raw((seenAt) => `${seenAt} < now() - make_interval(secs => ${2 * GONE_AFTER_S})`) };

type Devices = ReadonlySet<string | null>;

/** Open sockets on all instances, in the database; advisory (docs/realtime.md#pushing). */
@Injectable()
export class PresenceStore {
  private readonly findOnline: (userId: string) => Promise<Devices>;

  constructor(
    @InjectRepository(Instance) private readonly instances: Repository<Instance>,
    @InjectRepository(Presence) private readonly presences: Repository<Presence>,
    private readonly sql: Sql,
  ) {
    this.findOnline = sql.batched('presence-online', (userIds: string[]) => this.findOnlineOfEach(userIds));
  }

  /** Returns the user's devices that are online; null stands for sessions without a device. */
  onlineDevices(userId: string): Promise<Devices> {
    return this.findOnline(userId);
  }

  /** Returns how many users are online, on all instances. Costs 0.5 µs for each of them. */
  async countUsers(): Promise<number> {
    const row = await this.presences
      .createQueryBuilder('presence')
      .innerJoin(Instance, 'instance', 'instance.instanceId = presence.instanceId')
      .where(`instance.seenAt > now() - make_interval(secs => ${GONE_AFTER_S})`)
      .select('count(DISTINCT presence.userId)::float8', 'online')
      .getRawOne<{ online: number }>();
    return row!.online;
  }

  /** Returns how many instances run; one that starts or was killed may count or not. */
  countInstances(): Promise<number> {
    const seenAt = Raw((column) => `${column} > now() - make_interval(secs => ${GONE_AFTER_S})`);
    return this.instances.countBy({ seenAt });
  }

  /** @returns false if the instance is unknown: it was silent too long, or a crash emptied the tables */
  async heartbeat(instanceId: string): Promise<boolean> {
    const { affected } = await this.instances.update({ instanceId }, { seenAt: () => 'now()' });
    return affected! > 0;
  }

  async enter(instanceId: string): Promise<void> {
    await this.instances.upsert({ instanceId, seenAt: () => 'now()' }, ['instanceId']);
  }

  async write(instanceId: string, online: boolean, devices: readonly UserDevice[]): Promise<void> {
    if (devices.length === 0) return;
    const userIds = devices.map(({ userId }) => userId);
    const deviceIds = devices.map(({ deviceId }) => deviceId ?? NO_DEVICE);
    await this.sql.query(online ? ARRIVE : LEAVE, [instanceId, userIds, deviceIds]);
  }

  /** Removes instances that are gone, with their rows. Every instance does it, since a killed one cannot. */
  async sweep(): Promise<void> {
    // Cheaper than the transaction, which has nothing to remove most of the time and uses all nodes of a
    // distributed database.
    if (!(await this.instances.existsBy(SILENT))) return;
    await this.instances.manager.transaction(async (manager) => {
      // An instance that comes back waits for this lock, and then writes its rows anew.
      const { raw } = await manager
        .createQueryBuilder()
        .delete()
        .from(Instance)
        .where(SILENT)
        .returning('instance_id')
        .execute();
      const gone = (raw as { instance_id: string }[]).map(({ instance_id: id }) => id);
      await manager.delete(Presence, { instanceId: In(gone) });
    });
  }

  async clear(instanceId: string): Promise<void> {
    await this.presences.delete({ instanceId });
    await this.instances.delete({ instanceId });
  }

  /** Removes the rows of a removed user. Rows that are written later go when the user's sockets close. */
  async forget(userId: string): Promise<void> {
    // One transaction each: instances write many rows at once, in no order, so one statement for all could
    // deadlock.
    for (const { deviceId, instanceId } of await this.presences.findBy({ userId })) {
      await this.presences.delete({ userId, deviceId, instanceId });
    }
  }

  private async findOnlineOfEach(userIds: string[]): Promise<Devices[]> {
    const isOne = userIds.length === 1;
    const rows = await this.sql.query<{ place: number; device_id: string }>(
      isOne ? ONLINE : ONLINE_OF_MANY,
      isOne ? userIds : [userIds],
    );
    const devices = userIds.map(() => new Set<string | null>());
    for (const { place, device_id: id } of rows) devices[place - 1]!.add(id === NO_DEVICE ? null : id);
    return devices;
  }
}
