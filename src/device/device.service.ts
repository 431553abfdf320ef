import { Injectable } from '@nestjs/common';
import { DataSource, type Repository } from 'typeorm';
import { OAuthError } from '../errors/oauth-error.js';
import { Events, type Session } from '../events.js';
import { SessionStore } from '../token/session.store.js';
import { Device } from './device.entity.js';

/** The devices of one user. Another user's device is no device: it answers as one that does not exist. */
@Injectable()
export class DeviceService {
  private readonly devices: Repository<Device>;

  constructor(
    private readonly dataSource: DataSource,
    private readonly sessions: SessionStore,
    private readonly events: Events,
  ) {
    this.devices = dataSource.getRepository(Device);
  }

  /** Newest use first. */
  list(userId: string): Promise<Device[]> {
    return this.devices.find({ where: { userId }, order: { lastSeenAt: 'DESC', deviceId: 'ASC' } });
  }

  /** @throws OAuthError `not_found` */
  async rename(userId: string, deviceId: string, deviceName: string): Promise<Device> {
    const { affected } = await this.devices.update({ userId, deviceId }, { deviceName });
    const device = affected ? await this.devices.findOneBy({ userId, deviceId }) : null;
    if (!device) throw noSuchDevice();
    this.events.emit('device.renamed', { userId, deviceId });
    return device;
  }

  /**
   * Signs the device out and forgets it.
   * The row goes first: a sign-in on this device that races waits for it, and begins anew.
   * @throws OAuthError `not_found`
   */
  async remove({ userId, sessionId }: Session, deviceId: string): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      const { affected } = await manager.delete(Device, { userId, deviceId });
      if (!affected) throw noSuchDevice();
      await this.sessions.end('device', { userId, sessionId, deviceId }, manager);
    });
    this.events.emit('device.removed', { userId, deviceId });
  }
}

function noSuchDevice(): OAuthError {
  return new OAuthError('not_found', 'there is no such device');
}
