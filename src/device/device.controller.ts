import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Patch, Query } from '@nestjs/common';
import { type Origin, RequestOrigin } from '../audit/audit-event.js';
import { SETTINGS, type Settings } from '../platform/config/settings/settings.js';
import { HeavyReads } from '../platform/database/heavy-reads.js';
import type { SessionIds } from '../platform/events.js';
import { RateLimits } from '../platform/http/rate-limit.js';
import { Caller } from '../platform/http/access.js';
import { RenameDto, type DeviceView, type OwnDevice, type OwnDeviceList } from './devices.dto.js';
import { DeviceService, noSuchDevice } from './device.service.js';
import { CursorDto } from '../platform/http/parameters/cursor.js';
import { UuidPipe } from '../platform/http/parameters/uuid.js';

// Text that is not a UUID names no device.
const deviceIdPipe = new UuidPipe(noSuchDevice);

@Controller('devices')
export class DeviceController {
  /** Of users, apart from those of backends and the support: a page may read all sessions of a user. */
  private readonly reads: HeavyReads;

  constructor(
    private readonly devices: DeviceService,
    private readonly limits: RateLimits,
    @Inject(SETTINGS) { databasePoolSize }: Settings,
  ) {
    this.reads = new HeavyReads(Math.ceil(databasePoolSize / 4));
  }

  /**
   * The caller’s devices
   *
   * Newest use first, 100 a page. A device that is used between two pages moves to the first one.
   *
   * @returns A page of devices.
   * @throws OAuthError `slow_down`
   */
  @Get()
  async listDevices(@Caller() caller: SessionIds, @Query() { cursor }: CursorDto): Promise<OwnDeviceList> {
    await this.limits.countUser('read', caller.userId); // a page costs as much as many refreshes
    const by = { type: 'user', name: caller.userId };
    const { devices, ...next } = await this.reads.run(by, () => this.devices.list(caller.userId, cursor));
    const beside = cursor === undefined ? await this.devices.describeList(caller.userId) : {};
    return { ...next, ...beside, devices: devices.map((device) => asSeen(device, caller)) };
  }

  /**
   * Rename a device
   *
   * Each renaming is an event in the user’s history, so it is limited for each user.
   *
   * @returns The device.
   * @throws OAuthError `not_found`
   */
  @Patch(':device_id')
  async renameDevice(
    @Caller() caller: SessionIds,
    @Param('device_id', deviceIdPipe) deviceId: string,
    @Body() { device_name: name }: RenameDto,
    @RequestOrigin() origin: Origin,
  ): Promise<OwnDevice> {
    await this.limits.countUser('write', caller.userId);
    return asSeen(await this.devices.rename(caller.userId, deviceId, name, origin), caller);
  }

  /**
   * Sign a device out and remove it
   *
   * @returns Removed.
   * @throws OAuthError `not_found`
   */
  @Delete(':device_id')
  @HttpCode(204)
  async removeDevice(
    @Caller() caller: SessionIds,
    @Param('device_id', deviceIdPipe) deviceId: string,
    @RequestOrigin() origin: Origin,
  ): Promise<void> {
    // not limited: a stolen token must not keep the owner from it
    await this.devices.remove(caller, deviceId, origin);
  }
}

function asSeen(device: DeviceView, caller: SessionIds): OwnDevice {
  return Object.assign(device, { current: device.device_id === caller.deviceId });
}
