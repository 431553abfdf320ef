import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Query } from '@nestjs/common';
import { type Origin, From } from '../audit/audit-event.js';
import type { Session } from '../events.js';
import { answer } from '../http/answer.js';
import { RateLimits } from '../http/rate-limit.js';
import { Caller } from '../token/guard/access.js';
import { asListed, DevicesDto, OwnDevice, OwnDeviceList, RenameDto } from './devices.dto.js';
import { DeviceService, noSuchDevice } from './device.service.js';
import type { KnownDevice } from './device.store.js';
import { UuidPipe } from '../http/parameters/uuid.js';

// Text that is not a UUID names no device.
const deviceIdPipe = new UuidPipe(noSuchDevice);

@Controller('devices')
export class DeviceController {
  constructor(
    private readonly devices: DeviceService,
    private readonly limits: RateLimits,
  ) {}

  /**
   * The caller’s devices
   *
   * Newest use first, 100 a page. A device that is used between two pages moves to the first one.
   *
   * @returns A page of devices.
   */
  @Get()
  async listDevices(@Caller() caller: Session, @Query() { cursor }: DevicesDto): Promise<OwnDeviceList> {
    await this.limits.countUser('read', caller.userId); // a page costs as much as many refreshes
    const { devices, next } = await this.devices.list(caller.userId, cursor);
    return answer(OwnDeviceList, {
      devices: devices.map((device) => asSeen(device, caller)),
      next_cursor: next,
    });
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
    @Caller() caller: Session,
    @Param('device_id', deviceIdPipe) deviceId: string,
    @Body() { device_name: name }: RenameDto,
    @From() origin: Origin,
  ): Promise<OwnDevice> {
    await this.limits.countUser('write', caller.userId);
    const renamed = await this.devices.rename(caller.userId, deviceId, name, origin);
    return answer(OwnDevice, asSeen(renamed, caller));
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
    @Caller() caller: Session,
    @Param('device_id', deviceIdPipe) deviceId: string,
    @From() origin: Origin,
  ): Promise<void> {
    await this.devices.remove(caller, deviceId, origin); // not limited: a stolen token must not keep the owner from it
  }
}

/** What an OwnDevice is made from. */
function asSeen(device: KnownDevice, caller: Session): object {
  return Object.assign(asListed(device), { current: device.deviceId === caller.deviceId });
}
