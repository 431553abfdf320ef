import { Body, Controller, Delete, Get, HttpCode, Param, Patch } from '@nestjs/common';
import type { Session } from '../events.js';
import { Caller } from '../http/access.js';
import type { Device } from './device.entity.js';
import { DeviceIdPipe } from './device-id.pipe.js';
import { DeviceService } from './device.service.js';
import { RenameDto } from './rename.dto.js';

export interface DeviceView {
  device_id: string;
  device_name: string | null;
  user_agent: string | null;
  /** RFC 3339, UTC, with milliseconds; so is `last_seen_at`, exact to a minute. */
  created_at: string;
  last_seen_at: string;
  /** Whether it is the caller's own. */
  current: boolean;
  /** Whether it has an open socket: none has, as long as there is no real-time channel. */
  online: boolean;
}

@Controller('devices')
export class DeviceController {
  constructor(private readonly devices: DeviceService) {}

  /** The caller's devices, newest use first. */
  @Get()
  async list(@Caller() caller: Session): Promise<{ devices: DeviceView[] }> {
    const devices = await this.devices.list(caller.userId);
    return { devices: devices.map((device) => view(device, caller)) };
  }

  /** Rename a device. */
  @Patch(':device_id')
  async rename(
    @Caller() caller: Session,
    @Param('device_id', DeviceIdPipe) deviceId: string,
    @Body() { device_name: name }: RenameDto,
  ): Promise<DeviceView> {
    return view(await this.devices.rename(caller.userId, deviceId, name), caller);
  }

  /** Sign a device out and forget it. */
  @Delete(':device_id')
  @HttpCode(204)
  async remove(@Caller() caller: Session, @Param('device_id', DeviceIdPipe) deviceId: string): Promise<void> {
    await this.devices.remove(caller, deviceId);
  }
}

function view(device: Device, caller: Session): DeviceView {
  return {
    device_id: device.deviceId,
    device_name: device.deviceName,
    user_agent: device.userAgent,
    created_at: device.createdAt.toISOString(),
    last_seen_at: device.lastSeenAt.toISOString(),
    current: device.deviceId === caller.deviceId,
    online: false,
  };
}
