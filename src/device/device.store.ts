import { Injectable } from '@nestjs/common';
import { DataSource, IsNull, MoreThan, Not, type EntityManager } from 'typeorm';
import { chunks, plainArray } from '../platform/database/batching.js';
import { lastUse, writeLastUse } from '../platform/database/last-use.js';
import { readPage, selectPage } from '../platform/database/page.js';
import { Sql } from '../platform/database/sql.js';
import { parseCursor } from '../platform/http/parameters/cursor.js';
import { SessionStore } from '../token/sessions/session.store.js';
import { UserLifecycles, type DeviceKey } from '../user/user-lifecycle.js';
import { Device } from './device.entity.js';

/** A device as its row says, with the columns' names. */
export type DeviceRow = ReturnType<typeof toRow>;

/** Devices of one user, newest use first. */
const PAGE = selectPage('devices', 'last_seen_at', 'device_id');

// Raw: any number of pairs in one short statement, since the removal of an unknown device has no rate limit.
const EXIST = {
  name: 'devices-exist',
  text: `
    SELECT requested.place::int
    FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS requested (user_id, device_id, place)
    JOIN devices USING (user_id, device_id)`,
};

/** Devices of one statement: on a distributed database, 1000 take half a second. */
const LARGEST_FIND = 100;

const LAST_USE = lastUse('devices', 'last_seen_at', ['user_id', 'device_id']);

/** The devices of users. A device of another user counts as unknown. */
@Injectable()
export class DeviceStore {
  private readonly existsBatched: (key: DeviceKey) => Promise<boolean>;

  constructor(
    private readonly dataSource: DataSource,
    private readonly sql: Sql,
    private readonly sessions: SessionStore,
    private readonly lifecycles: UserLifecycles,
  ) {
    this.existsBatched = sql.batched('device-exists', (keys: DeviceKey[]) => this.existEach(keys));
  }

  /** Whether a device is stored; without a lock, and concurrent calls are batched. */
  exists(key: DeviceKey): Promise<boolean> {
    return this.existsBatched(key);
  }

  /** Returns a page, newest use first. @param cursor `next_cursor` of the previous page */
  findPage(
    userId: string,
    cursor?: string,
  ): Promise<{ readonly page: DeviceRow[]; readonly next: { next_cursor?: string } }> {
    const { manager } = this.dataSource;
    return readPage(manager, PAGE, (row: DeviceRow) => row, userId, parseCursor(cursor));
  }

  /** Finds those of some devices that have a name. @param keys each once */
  async findNames(keys: readonly DeviceKey[]): Promise<Pick<Device, 'userId' | 'deviceId' | 'deviceName'>[]> {
    const select = { userId: true, deviceId: true, deviceName: true } as const;
    const found: Device[] = [];
    for (const some of chunks(keys, LARGEST_FIND)) {
      const where = some.map((key) => ({ ...key, deviceName: Not(IsNull()) }));
      found.push(...(await this.dataSource.manager.find(Device, { select, where })));
    }
    return found;
  }

  /** Returns some devices of a user in the order of their ids, behind one; none: there are no more. */
  async findBehind(userId: string, deviceId?: string): Promise<DeviceRow[]> {
    const where = { userId, ...(deviceId !== undefined && { deviceId: MoreThan(deviceId) }) };
    const devices = await this.dataSource.manager.find(Device, {
      where,
      order: { deviceId: 'ASC' },
      take: 100,
    });
    return devices.map(toRow);
  }

  async rename(manager: EntityManager, key: DeviceKey, deviceName: string): Promise<DeviceRow | undefined> {
    await manager.update(Device, { ...key }, { deviceName });
    const device = await manager.findOneBy(Device, { ...key });
    return device ? toRow(device) : undefined;
  }

  async remove(
    manager: EntityManager,
    { userId, deviceId }: DeviceKey,
    isByPerson?: boolean,
  ): Promise<boolean> {
    await this.lifecycles.deviceRemoved(manager, { userId, deviceId }, isByPerson);
    return (await manager.delete(Device, { userId, deviceId })).affected === 1;
  }

  /** Removes all devices of a user, whom the caller has locked. */
  async removeAll(manager: EntityManager, userId: string): Promise<void> {
    await manager.delete(Device, { userId });
  }

  /**
   * Removes the device of a user, whom the caller has locked, that has been signed out the longest. Ended
   * sessions are removed after a while: devices without any come first, by their last use.
   * @returns id of the device; undefined if all devices are signed in
   */
  async removeSignedOutLongest(manager: EntityManager, userId: string): Promise<string | undefined> {
    const live = await this.sessions.findLiveDevices(userId, { manager });
    const ended = await this.sessions.findEndedDevices(userId, manager);
    const devices = await manager.findBy(Device, { userId });
    const endedAt = ({ deviceId }: Device): number => ended.get(deviceId)?.getTime() ?? 0;
    const [longest] = devices
      .filter(({ deviceId }) => !live.has(deviceId))
      .toSorted((a, b) => endedAt(a) - endedAt(b) || a.lastSeenAt.getTime() - b.lastSeenAt.getTime());
    if (longest) await this.remove(manager, longest);
    return longest?.deviceId;
  }

  /**
   * Sets the last use of devices to now, at most once a minute and device.
   * @param keys may have a device twice
   */
  markUsed(keys: readonly DeviceKey[]): Promise<void> {
    return writeLastUse(
      this.sql,
      LAST_USE,
      keys.map(({ userId, deviceId }) => [userId, deviceId]),
    );
  }

  private async existEach(keys: readonly DeviceKey[]): Promise<boolean[]> {
    const userIds = plainArray(keys.map(({ userId }) => userId));
    const deviceIds = plainArray(keys.map(({ deviceId }) => deviceId));
    const rows = await this.sql.query<{ place: number }>(EXIST, [userIds, deviceIds]);
    const places = new Set(rows.map(({ place }) => place));
    return keys.map((_, i) => places.has(i + 1));
  }
}

function toRow(device: Device) {
  return {
    device_id: device.deviceId,
    device_name: device.deviceName,
    user_agent: device.userAgent,
    address: device.address,
    created_at: device.createdAt,
    last_seen_at: device.lastSeenAt,
  };
}
