import type { EntityManager } from 'typeorm';
import { isOnline } from '../channel/presence.sql.js';
import { hasLivingSession, selectDeviceEnds } from '../token/session.sql.js';
import { Device } from './device.entity.js';

/** A device, whether it has a session that lives, and whether it has an open socket on some instance. */
export type KnownDevice = Device & { readonly signedIn: boolean; readonly online: boolean };

/** Devices that one call lists (contract §4, GET /devices). */
const PAGE = 100;

/** Place of a device in the list: newest use first. */
export interface DevicePlace {
  /** When it was last used: microseconds since the epoch, as text. */
  readonly lastSeen: string;
  readonly deviceId: string;
}

const PLACE = '(extract(epoch FROM last_seen_at) * 1000000)::bigint';

// It spans rooms: session.sql.ts says whether a session lives, presence.sql.ts whether a socket is open. Each part names the
// user, so that on Citus it goes to the user's node.
const known = (from: string): string => `
  SELECT user_id AS "userId", device_id AS "deviceId", device_name AS "deviceName", user_agent AS "userAgent",
    created_at AS "createdAt", last_seen_at AS "lastSeenAt",
    ${hasLivingSession('$1', 'd.device_id')} AS "signedIn", ${isOnline('$1', 'd.device_id')} AS online, ${PLACE} AS place
  FROM (${from}) AS d`;

const DEVICE = known('SELECT * FROM devices WHERE user_id = $1 AND device_id = $2');

// The page is selected first, so that sessions and sockets of no other devices are read. No index by `last_seen_at`: each use of
// a device would write it.
const DEVICES = `${known(`
    SELECT * FROM devices
    WHERE user_id = $1 AND ($2::bigint IS NULL OR (-${PLACE}, device_id) > (-$2::bigint, $3::uuid))
    ORDER BY last_seen_at DESC, device_id LIMIT ${PAGE + 1}`)}
  ORDER BY last_seen_at DESC, device_id`;

/**
 * A page of the user's devices, newest use first. A device that is used between two pages moves to the first one.
 * @param after where the page before ended; undefined: the first page
 */
export async function findDevices(
  manager: EntityManager,
  userId: string,
  after?: DevicePlace,
): Promise<{ devices: KnownDevice[]; next: DevicePlace | undefined }> {
  const rows = await manager.query<(KnownDevice & { place: string })[]>(DEVICES, [
    userId,
    after?.lastSeen,
    after?.deviceId,
  ]);
  const devices = rows.slice(0, PAGE);
  const end = rows.length > PAGE ? devices.at(-1) : undefined;
  return { devices, next: end && { lastSeen: end.place, deviceId: end.deviceId } };
}

/** One device of the user, if there is such a device. */
export async function findDevice(
  manager: EntityManager,
  userId: string,
  deviceId: string,
): Promise<KnownDevice | undefined> {
  const [device] = await manager.query<KnownDevice[]>(DEVICE, [userId, deviceId]);
  return device;
}

// In the order in which sign-outs lock them (sign-out.service.ts).
const LOCK = 'SELECT FROM devices WHERE user_id = $1 ORDER BY device_id FOR UPDATE';

/** Removes all devices of a user. Renames and sign-outs that are under way are waited for. */
export async function removeDevices(manager: EntityManager, userId: string): Promise<void> {
  await manager.query(LOCK, [userId]);
  await manager.delete(Device, { userId });
}

// It spans rooms as DEVICES does. FOR UPDATE holds off sign-ins on the device; one that another sign-in removes is skipped.
const SIGNED_OUT_LONGEST = `
  SELECT d.device_id AS "deviceId" FROM devices d
  LEFT JOIN (${selectDeviceEnds('$1')}) AS e ON e.device_id = d.device_id
  WHERE d.user_id = $1 AND NOT ${hasLivingSession('$1', 'd.device_id')}
  ORDER BY e.ended_at NULLS FIRST, d.last_seen_at LIMIT 1
  FOR UPDATE OF d SKIP LOCKED`;

// Once its row is locked: a session may have begun on it since the statement before.
const REMOVE_SIGNED_OUT = `
  DELETE FROM devices d WHERE user_id = $1 AND device_id = $2 AND NOT ${hasLivingSession('$1', '$2')}`;

/**
 * Removes the device of a user that has been signed out the longest. Sessions are removed some time after their end: a device
 * without any comes first, by its last use.
 * @returns its id; undefined if all devices are signed in
 */
export async function removeSignedOutLongest(
  manager: EntityManager,
  userId: string,
): Promise<string | undefined> {
  const [device] = await manager.query<{ deviceId: string }[]>(SIGNED_OUT_LONGEST, [userId]);
  if (!device) return undefined;
  const [, removed] = await manager.query<[unknown, number]>(REMOVE_SIGNED_OUT, [userId, device.deviceId]);
  return removed > 0 ? device.deviceId : undefined;
}
