import { OptionalText, RequiredText } from '../http/parameters/parameter.js';
import type { DevicePlace } from './device.store.js';

/** Microseconds since the epoch, and the id of a device. */
const CURSOR = /^(\d{1,16})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Query of GET /devices. */
export class DevicesDto {
  /** `next_cursor` of the page before; left out: the first page. */
  @OptionalText({ matches: { pattern: CURSOR, as: 'the next_cursor of an answer' } })
  cursor?: string;
}

/** Body of PATCH /devices/:device_id. */
export class RenameDto {
  /** Display name of the device. */
  @RequiredText({ max: 128 })
  device_name!: string;
}

export function cursorOf({ lastSeen, deviceId }: DevicePlace): string {
  return `${lastSeen}-${deviceId}`;
}

/** @param cursor that the rule above has accepted */
export function placeOf(cursor: string): DevicePlace {
  const [, lastSeen, deviceId] = CURSOR.exec(cursor)!;
  return { lastSeen: lastSeen!, deviceId: deviceId! };
}
