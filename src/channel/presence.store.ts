import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { forEachLimited } from '../database/statements/concurrency-limit.js';
import { Sql, type Statement } from '../database/statements/sql.js';
import { Instance } from './instance.entity.js';
import { Presence } from './presence.entity.js';
import { GONE_AFTER_S } from './presence.sql.js';

/** Stands for "no device" in the table's key. */
const NO_DEVICE = '00000000-0000-0000-0000-000000000000';

/** A user's sockets on one device, or on none. */
export interface Place {
  readonly userId: string;
  readonly deviceId: string | null;
}

// SQL by hand where many places share one statement …
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
// … and where an instance and its places go together or not at all. Every instance sweeps: one that was killed cannot.
const SWEEP = {
  name: 'presence-sweep',
  text: `
    WITH dead AS (
      DELETE FROM instances WHERE seen_at < now() - make_interval(secs => ${2 * GONE_AFTER_S}) RETURNING instance_id
    )
    DELETE FROM presence USING dead WHERE presence.instance_id = dead.instance_id`,
};
const CLEAR = {
  name: 'presence-clear',
  text: 'WITH gone AS (DELETE FROM instances WHERE instance_id = $1) DELETE FROM presence WHERE instance_id = $1',
};
// On Citus a place goes to its user's node, unless they are many.
const ARRIVE_ONE = {
  name: 'presence-arrive-one',
  text: 'INSERT INTO presence (user_id, device_id, instance_id) VALUES ($2, $3, $1) ON CONFLICT DO NOTHING',
};
const LEAVE_ONE = {
  name: 'presence-leave-one',
  text: 'DELETE FROM presence WHERE user_id = $2 AND device_id = $3 AND instance_id = $1',
};
const MANY = 100;
// Mostly there is nothing to sweep, which a read says at less cost (on Citus a sweep asks all nodes).
const ANY_DEAD = {
  name: 'presence-any-dead',
  text: `SELECT FROM instances WHERE seen_at < now() - make_interval(secs => ${2 * GONE_AFTER_S}) LIMIT 1`,
};
// Asked at each push.
const ONLINE = {
  name: 'presence-online',
  text: `
    SELECT DISTINCT p.device_id FROM presence p JOIN instances i ON i.instance_id = p.instance_id
    WHERE p.user_id = $1 AND i.seen_at > now() - make_interval(secs => ${GONE_AFTER_S})`,
};

// The same of many users, for pushes that come together.
const ONLINE_OF_MANY = {
  name: 'presence-online-of-many',
  text: `
    SELECT DISTINCT n.place::int, p.device_id
    FROM unnest($1::uuid[]) WITH ORDINALITY AS n (user_id, place)
    JOIN presence p ON p.user_id = n.user_id JOIN instances i ON i.instance_id = p.instance_id
    WHERE i.seen_at > now() - make_interval(secs => ${GONE_AFTER_S})`,
};

type Devices = ReadonlySet<string | null>;

/** Who has an open socket, on whichever instance; advisory (contract §7, `online`). No instance asks another. */
@Injectable()
export class PresenceStore {
  /** The user's devices that are online; null stands for sessions without a device. Those who are asked for together share a statement. */
  readonly onlineDevices: (userId: string) => Promise<Devices>;

  constructor(
    @InjectRepository(Instance) private readonly instances: Repository<Instance>,
    @InjectRepository(Presence) private readonly places: Repository<Presence>,
    private readonly sql: Sql,
  ) {
    this.onlineDevices = sql.together('presence-online', (userIds: string[]) =>
      this.onlineDevicesOfEach(userIds),
    );
  }

  /** @returns false when the instance is not known: it was gone too long, or the tables were emptied by a crash. */
  async heartbeat(instanceId: string): Promise<boolean> {
    const { affected } = await this.instances.update({ instanceId }, { seenAt: () => 'now()' });
    return affected! > 0;
  }

  async enter(instanceId: string): Promise<void> {
    await this.instances.upsert({ instanceId, seenAt: () => 'now()' }, ['instanceId']);
  }

  async arrive(instanceId: string, places: readonly Place[]): Promise<void> {
    await this.write(ARRIVE, ARRIVE_ONE, instanceId, places);
  }

  async leave(instanceId: string, places: readonly Place[]): Promise<void> {
    await this.write(LEAVE, LEAVE_ONE, instanceId, places);
  }

  async sweep(): Promise<void> {
    if ((await this.sql.query(ANY_DEAD, [])).length === 0) return;
    await this.sql.query(SWEEP, []);
  }

  /** The instance stops: its sockets are gone. */
  async clear(instanceId: string): Promise<void> {
    await this.sql.query(CLEAR, [instanceId]);
  }

  /** The user is removed. What an instance writes after this goes when it closes their sockets. */
  async forget(userId: string): Promise<void> {
    const places = await this.places.findBy({ userId });
    // One by one, each in a transaction of its own: instances write many at once, in no order.
    await forEachLimited(places, ({ deviceId, instanceId }) =>
      this.places.delete({ userId, deviceId, instanceId }),
    );
  }

  private async onlineDevicesOf(userId: string): Promise<Devices> {
    const rows = await this.sql.query<{ device_id: string }>(ONLINE, [userId]);
    return new Set(rows.map(deviceOf));
  }

  private async onlineDevicesOfEach(userIds: string[]): Promise<Devices[]> {
    if (userIds.length === 1) return [await this.onlineDevicesOf(userIds[0]!)];
    const rows = await this.sql.query<{ place: number; device_id: string }>(ONLINE_OF_MANY, [userIds]);
    const devices = userIds.map(() => new Set<string | null>());
    for (const row of rows) devices[row.place - 1]!.add(deviceOf(row));
    return devices;
  }

  private async write(
    many: Statement,
    one: Statement,
    instanceId: string,
    places: readonly Place[],
  ): Promise<void> {
    if (this.sql.distributed && places.length <= MANY) {
      await forEachLimited(places, ({ userId, deviceId }) =>
        this.sql.query(one, [instanceId, userId, deviceId ?? NO_DEVICE]),
      );
    } else {
      await this.sql.query(many, [instanceId, ...columns(places)]);
    }
  }
}

function columns(places: readonly Place[]): [string[], string[]] {
  return [places.map(({ userId }) => userId), places.map(({ deviceId }) => deviceId ?? NO_DEVICE)];
}

function deviceOf({ device_id: id }: { readonly device_id: string }): string | null {
  return id === NO_DEVICE ? null : id;
}
