import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Origin } from '../audit/audit-event.js';
import { AuditStore } from '../audit/audit.store.js';
import { ChannelHistory } from '../channel/channel.history.js';
import { plainArray } from '../database/batching.js';
import { Sql } from '../database/sql.js';
import { OneAtATime } from '../database/limits.js';
import { OAuthError } from '../errors/oauth-error.js';
import type { SessionIds } from '../events.js';
import { Device } from './device.entity.js';
import { hasDevice, RENAME_DEVICE } from './device.sql.js';
import { findDevice, findDevices } from './device.store.js';
import type { DeviceList, DeviceView } from './devices.dto.js';
import { holdForAudit } from '../user/user.store.js';
import { SignOutService } from './sign-out.service.js';

// Batched and without a lock: the removal of an unknown device has no rate limit.
const EXISTS = { name: 'device-exists', text: `SELECT ${hasDevice('$1', '$2')} AS there` };
const EXIST = {
  name: 'devices-exist',
  text: `
    SELECT ${hasDevice('n.user_id', 'n.device_id')} AS there
    FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS n (user_id, device_id, place)
    ORDER BY place`,
};

interface DeviceKey {
  readonly userId: string;
  readonly deviceId: string;
}

/** Devices of one user. A device of another user counts as unknown. */
@Injectable()
export class DeviceService {
  private readonly exists: (key: DeviceKey) => Promise<boolean>;
  /** A page may read all sessions of a user: one at a time for each user, so that connections are left to others. */
  private readonly pages = new OneAtATime('too many lists of one user');

  constructor(
    private readonly dataSource: DataSource,
    private readonly history: ChannelHistory,
    private readonly signOuts: SignOutService,
    private readonly sql: Sql,
    private readonly audit: AuditStore,
  ) {
    this.exists = sql.batched('device-exists', (keys: DeviceKey[]) => this.existEach(keys));
  }

  list(userId: string, cursor?: string): Promise<DeviceList> {
    return this.pages.run(userId, () => findDevices(this.dataSource.manager, userId, cursor));
  }

  /** @throws OAuthError `not_found` */
  rename(userId: string, deviceId: string, deviceName: string, origin: Origin): Promise<DeviceView> {
    return this.history.transactionOf(userId, async ({ manager, append }) => {
      const provider = await holdForAudit(manager, userId);
      const values = [userId, deviceId, deviceName];
      const [renamed] = await manager.query<{ facts: object }[]>(RENAME_DEVICE, values);
      if (!renamed) throw noSuchDevice();
      await append(userId, 'device.renamed', [renamed.facts]);
      await this.audit.write(manager, [{ event: 'device_renamed', userId, deviceId, provider, origin }]);
      return (await findDevice(manager, userId, deviceId))!;
    });
  }

  /**
   * Signs the device out and deletes it. The sign-out locks the user first: a concurrent sign-in waits, then inserts the device anew.
   * @throws OAuthError `not_found`
   */
  async remove({ userId, sessionId }: SessionIds, deviceId: string, origin: Origin): Promise<void> {
    let isThere = await this.exists({ userId, deviceId });
    if (isThere) {
      await this.signOuts.signOut('device', { userId, sessionId, deviceId }, origin, {
        last: async ({ manager }, provider) => {
          isThere = (await manager.delete(Device, { userId, deviceId })).affected === 1;
          const event = { event: 'device_removed', userId, deviceId, provider, origin } as const;
          if (isThere) await this.audit.write(manager, [event]);
        },
      });
    } else await this.sql.confirmRead(); // it may have been removed before
    if (!isThere) throw noSuchDevice();
  }

  private async existEach(keys: readonly DeviceKey[]): Promise<boolean[]> {
    const [first] = keys;
    const rows =
      keys.length === 1
        ? await this.sql.query<{ there: boolean }>(EXISTS, [first!.userId, first!.deviceId])
        : await this.sql.query<{ there: boolean }>(EXIST, [
            plainArray(keys.map(({ userId }) => userId)),
            plainArray(keys.map(({ deviceId }) => deviceId)),
          ]);
    return rows.map(({ there }) => there);
  }
}

export function noSuchDevice(): OAuthError {
  return new OAuthError('not_found', 'there is no such device');
}
