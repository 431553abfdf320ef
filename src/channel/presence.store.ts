import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Sql } from '../database/sql.js';
import type { SessionIds } from '../events.js';
import { Instance, Presence } from './presence.entity.js';
import { GONE_AFTER_S, NO_DEVICE, ONLINE_PRESENCE } from './presence.sql.js';

/** A user's device, or null: the user's sessions without a device. */
export type UserDevice = Omit<SessionIds, 'sessionId'>;

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
// Every instance sweeps, since a killed one cannot.
const SWEEP = {
  name: 'presence-sweep',
  text: `
    WITH dead AS (
      DELETE FROM instances WHERE seen_at < now() - make_interval(secs => ${2 * GONE_AFTER_S}) RETURNING instance_id
    )
    DELETE FROM presence USING dead WHERE presence.instance_id = dead.instance_id`,
};
// Cheaper than SWEEP, which has nothing to remove most of the time and reads all nodes of a Citus cluster.
const ANY_DEAD = {
  name: 'presence-any-dead',
  text: `SELECT FROM instances WHERE seen_at < now() - make_interval(secs => ${2 * GONE_AFTER_S}) LIMIT 1`,
};
const ONLINE = {
  name: 'presence-online',
  text: `SELECT DISTINCT 1 AS place, p.device_id FROM ${ONLINE_PRESENCE} WHERE p.user_id = $1`,
};
const ONLINE_OF_MANY = {
  name: 'presence-online-of-many',
  text: `
    SELECT DISTINCT n.place::int, p.device_id
    FROM unnest($1::uuid[]) WITH ORDINALITY AS n (user_id, place) JOIN (${ONLINE_PRESENCE}) ON p.user_id = n.user_id`,
};
const COUNT_USERS = {
  name: 'presence-count',
  text: `SELECT count(DISTINCT p.user_id)::float8 AS online FROM ${ONLINE_PRESENCE}`,
};

type Devices = ReadonlySet<string | null>;

/**
 * Open sockets on all instances; advisory (docs/realtime.md#pushing). Instances share it through the
 * database.
 */
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
    const [row] = await this.sql.query<{ online: number }>(COUNT_USERS, []);
    return row!.online;
  }

  /** @returns false if the instance is unknown: it was silent too long, or a crash of the database emptied the tables */
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

  /** Removes instances that are gone, with their rows. */
  async sweep(): Promise<void> {
    if ((await this.sql.query(ANY_DEAD, [])).length === 0) return;
    await this.sql.query(SWEEP, []);
  }

  async clear(instanceId: string): Promise<void> {
    await this.presences.delete({ instanceId });
    await this.instances.delete({ instanceId });
  }

  /** Removes the rows of a removed user. Rows that an instance writes later go when it closes the user's sockets. */
  async forget(userId: string): Promise<void> {
    // One transaction each: instances write many rows at once, in no order, so one statement for all could deadlock.
    for (const { deviceId, instanceId } of await this.presences.findBy({ userId })) {
      await this.presences.delete({ userId, deviceId, instanceId });
    }
  }

  private async findOnlineOfEach(userIds: string[]): Promise<Devices[]> {
    const rows = await (userIds.length === 1
      ? this.sql.query<{ place: number; device_id: string }>(ONLINE, userIds)
      : this.sql.query<{ place: number; device_id: string }>(ONLINE_OF_MANY, [userIds]));
    const devices = userIds.map(() => new Set<string | null>());
    for (const { place, device_id: id } of rows) devices[place - 1]!.add(id === NO_DEVICE ? null : id);
    return devices;
  }
}
