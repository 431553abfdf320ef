import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Patch,
  Query,
  Injectable,
  type PipeTransform,
} from '@nestjs/common';
import type { Session } from '../events.js';
import { answer } from '../http/answer.js';
import { RateLimits } from '../http/rate-limit.js';
import { Caller } from '../token/guard/access.js';
import { cursorOf, DeviceList, DevicesDto, DeviceView, placeOf, RenameDto } from './devices.dto.js';
import { DeviceService } from './device.service.js';
import type { KnownDevice } from './device.store.js';
import { OAuthError } from '../errors/oauth-error.js';
import { UUID } from '../http/parameters/uuid.js';

/** A device id from the path, in lower case. Text that is not a UUID names no device. */
@Injectable()
class DeviceIdPipe implements PipeTransform<string, string> {
  transform(value: string): string {
    if (!UUID.test(value)) throw new OAuthError('not_found', 'there is no such device');
    return value.toLowerCase();
  }
}

@Controller('devices')
export class DeviceController {
  constructor(
    private readonly devices: DeviceService,
    private readonly limits: RateLimits,
  ) {}

  /** The caller's devices, newest use first, in pages. Limited for each user: a page costs as much as many refreshes. */
  @Get()
  async list(@Caller() caller: Session, @Query() { cursor }: DevicesDto): Promise<DeviceList> {
    await this.limits.countUser('read', caller.userId);
    const { devices, next } = await this.devices.list(
      caller.userId,
      cursor === undefined ? undefined : placeOf(cursor),
    );
    return answer(DeviceList, {
      devices: devices.map((device) => asSeen(device, caller)),
      next_cursor: next && cursorOf(next),
    });
  }

  /** Rename a device. Limited for each user (contract §2): each renaming is an event in their history. */
  @Patch(':device_id')
  async rename(
    @Caller() caller: Session,
    @Param('device_id', DeviceIdPipe) deviceId: string,
    @Body() { device_name: name }: RenameDto,
  ): Promise<DeviceView> {
    await this.limits.countUser('write', caller.userId);
    return answer(DeviceView, asSeen(await this.devices.rename(caller.userId, deviceId, name), caller));
  }

  /** Sign a device out and forget it. Never limited: someone with a stolen token must not keep the owner from it. */
  @Delete(':device_id')
  @HttpCode(204)
  async remove(@Caller() caller: Session, @Param('device_id', DeviceIdPipe) deviceId: string): Promise<void> {
    await this.devices.remove(caller, deviceId);
  }
}

/** What a DeviceView is made from. */
function asSeen(device: KnownDevice, caller: Session): object {
  return Object.assign({ current: device.deviceId === caller.deviceId }, device);
}
