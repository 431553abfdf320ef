import { deviceFacts, type DeviceFacts } from './device-facts.js';
import type { Device } from './device.entity.js';

/** What clients see of a device. */
export function describeDevice(device: Device): DeviceFacts {
  return deviceFacts({
    device_id: device.deviceId,
    device_name: device.deviceName,
    user_agent: device.userAgent,
    created_at: device.createdAt,
    last_seen_at: device.lastSeenAt,
  });
}
