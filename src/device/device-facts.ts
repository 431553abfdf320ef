import type { Device } from './device.entity.js';

/** A device as `device.*` events carry it (contract §7). Times: RFC 3339, UTC, with milliseconds. */
export interface DeviceFacts {
  device_id: string;
  device_name: string | null;
  user_agent: string | null;
  created_at: string;
  last_seen_at: string;
}

/** The facts of a device. For events that SQL appends, DEVICE_FACTS in device.sql.ts makes the same. */
export function deviceFacts(device: Device): DeviceFacts {
  return {
    device_id: device.deviceId,
    device_name: device.deviceName,
    user_agent: device.userAgent,
    created_at: device.createdAt.toISOString(),
    last_seen_at: device.lastSeenAt.toISOString(),
  };
}
