import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Origin } from '../audit/audit-event.js';
import { AuditStore } from '../audit/audit.store.js';
import { ChannelHistory } from '../channel/channel.history.js';
import { CONFIRM_READ } from '../database/statements/confirm-read.js';
import { Sql } from '../database/statements/sql.js';
import { OAuthError } from '../errors/oauth-error.js';
import type { Session } from '../events.js';
import { Device } from './device.entity.js';
import { RENAME_DEVICE } from './device.sql.js';
import { findDevice, findDevices } from './device.store.js';
import type { DeviceList, DeviceView } from './devices.dto.js';
import { holdForAudit } from '../user/user.store.js';
import { SignOutService } from './sign-out.service.js';

/** Devices of one user. A device of another user counts as unknown. */
@Injectable()
export class DeviceService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly history: ChannelHistory,
    private readonly signOuts: SignOutService,
    private readonly sql: Sql,
    private readonly audit: AuditStore,
  ) {}

  list(userId: string, cursor?: string): Promise<DeviceList> {
    return findDevices(this.dataSource.manager, userId, cursor);
  }

  /** @throws OAuthError `not_found` */
  rename(userId: string, deviceId: string, deviceName: string, origin: Origin): Promise<DeviceView> {
    return this.history.transaction(async ({ manager, append }) => {
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
  async remove({ userId, sessionId }: Session, deviceId: string, origin: Origin): Promise<void> {
    let isThere = await this.dataSource.manager.existsBy(Device, { userId, deviceId });
    if (isThere) {
      await this.signOuts.signOut('device', { userId, sessionId, deviceId }, origin, {
        last: async ({ manager }, provider) => {
          isThere = (await manager.delete(Device, { userId, deviceId })).affected === 1;
          const event = { event: 'device_removed', userId, deviceId, provider, origin } as const;
          if (isThere) await this.audit.write(manager, [event]);
        },
      });
    } else await this.sql.query(CONFIRM_READ, []); // it may have been removed before
    if (!isThere) throw noSuchDevice();
  }
}

export function noSuchDevice(): OAuthError {
  return new OAuthError('not_found', 'there is no such device');
}
