import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { ChannelHistory } from '../channel/channel.history.js';
import { CONFIRM_READ } from '../database/confirm-read.js';
import { OAuthError } from '../errors/oauth-error.js';
import { Events, type Session } from '../events.js';
import { Device } from './device.entity.js';
import { deviceFacts } from './device-facts.js';
import { findDevices, type KnownDevice } from './device.store.js';
import { SignOutService } from './sign-out.service.js';

/** The devices of one user. Another user's device is treated as one that does not exist. */
@Injectable()
export class DeviceService {
  constructor(
    @InjectRepository(Device) private readonly devices: Repository<Device>,
    private readonly history: ChannelHistory,
    private readonly signOuts: SignOutService,
    private readonly events: Events,
  ) {}

  /** Newest use first. */
  list(userId: string): Promise<KnownDevice[]> {
    return findDevices(this.devices.manager, userId);
  }

  /** @throws OAuthError `not_found` */
  async rename(userId: string, deviceId: string, deviceName: string): Promise<KnownDevice> {
    const device = await this.history.transaction(async ({ manager, append }) => {
      await manager.update(Device, { userId, deviceId }, { deviceName });
      const [renamed] = await findDevices(manager, userId, deviceId);
      if (!renamed) throw noSuchDevice();
      await append(userId, 'device.renamed', deviceFacts(renamed));
      return renamed;
    });
    this.events.emit('device.renamed', { userId, deviceId });
    return device;
  }

  /**
   * Signs the device out and forgets it. Its row is locked first: a sign-in on this device at the same time waits, then
   * inserts it anew; another removal waits, then finds nothing.
   * @throws OAuthError `not_found`
   */
  async remove({ userId, sessionId }: Session, deviceId: string): Promise<void> {
    const isThere = await this.history.transaction(async (transaction) => {
      const { manager } = transaction;
      const lock = { mode: 'pessimistic_write' } as const;
      const device = await manager.findOne(Device, { where: { userId, deviceId }, lock });
      if (device) {
        await this.signOuts.signOut('device', { userId, sessionId, deviceId }, transaction);
        await manager.delete(Device, { userId, deviceId });
      } else await manager.query(CONFIRM_READ.text); // it may have been removed before
      return device !== null;
    });
    if (!isThere) throw noSuchDevice();
    this.events.emit('device.removed', { userId, deviceId });
  }
}

function noSuchDevice(): OAuthError {
  return new OAuthError('not_found', 'there is no such device');
}
