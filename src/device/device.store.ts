import type { EntityManager } from 'typeorm';
import { cursorOf, placeIn, placeOf } from '../http/parameters/cursor.js';
import { isOnline } from '../channel/presence.sql.js';
import { selectEndedSessions, selectLivingDevices } from '../token/sessions/session.sql.js';
import { Device } from './device.entity.js';

/** A device with its live state: a living session, an open socket on any instance. */
export type KnownDevice = Device & { readonly signedIn: boolean; readonly online: boolean };

/** Devices that one call lists (contract §4, GET /devices). */
const PAGE = 100;

const PLACE = placeOf('last_seen_at');

// Each part names the user, so that Citus sends it to the user's node.
const known = (from: string): string => `
  SELECT user_id AS "userId", device_id AS "deviceId", device_name AS "deviceName", user_agent AS "userAgent", address,
    created_at AS "createdAt", last_seen_at AS "lastSeenAt", ${PLACE} AS place,
    device_id IN (${selectLivingDevices('$1')}) AS "signedIn", ${isOnline('$1', 'd.device_id')} AS online
  FROM (${from}) AS d`;

const DEVICE = known('SELECT * FROM devices WHERE user_id = $1 AND device_id = $2');

// The page is selected first, so that sockets of its devices only are read. No index on `last_seen_at`: each use of a device would
// write it.
const DEVICES = `${known(`
    SELECT * FROM devices
    WHERE user_id = $1 AND ($2::bigint IS NULL OR (-${PLACE}, device_id) > (-$2::bigint, $3::uuid))
    ORDER BY last_seen_at DESC, device_id LIMIT ${PAGE + 1}`)}
  ORDER BY last_seen_at DESC, device_id`;

/** Returns a page, newest use first. @param cursor `next` of the previous page */
export async function findDevices(
  manager: EntityManager,
  userId: string,
  cursor?: string,
): Promise<{ devices: KnownDevice[]; next: string | undefined }> {
  const after = placeIn(cursor);
  const rows = await manager.query<(KnownDevice & { place: string })[]>(DEVICES, [
    userId,
    after?.place,
    after?.id,
  ]);
  const devices = rows.slice(0, PAGE);
  const end = rows.length > PAGE ? devices.at(-1) : undefined;
  return { devices, next: end && cursorOf({ place: end.place, id: end.deviceId }) };
}

export async function findDevice(
  manager: EntityManager,
  userId: string,
  deviceId: string,
): Promise<KnownDevice | undefined> {
  const [device] = await manager.query<KnownDevice[]>(DEVICE, [userId, deviceId]);
  return device;
}

// Same order as in sign-out.service.ts.
const LOCK = 'SELECT FROM devices WHERE user_id = $1 ORDER BY device_id FOR UPDATE';

/** Removes all devices of a user, after concurrent renames and sign-outs. */
export async function removeDevices(manager: EntityManager, userId: string): Promise<void> {
  await manager.query(LOCK, [userId]);
  await manager.delete(Device, { userId });
}

// It uses tables of several modules. Grouped, not joined: see selectLivingDevices.
const SIGNED_OUT_LONGEST = `
  SELECT device_id AS "deviceId"
  FROM (
    SELECT device_id, NULL::timestamptz AS ended_at, last_seen_at FROM devices
    WHERE user_id = $1 AND device_id NOT IN (${selectLivingDevices('$1')})
    UNION ALL
    SELECT device_id, ended_at, NULL FROM (${selectEndedSessions('$1')}) AS ended
  ) AS facts
  GROUP BY device_id HAVING max(last_seen_at) IS NOT NULL
  ORDER BY max(ended_at) NULLS FIRST, max(last_seen_at) LIMIT 1`;

const LOCK_ONE = 'SELECT FROM devices WHERE user_id = $1 AND device_id = $2 FOR UPDATE';

// Runs under the lock: a session may have begun on the device since.
const REMOVE_SIGNED_OUT = `
  DELETE FROM devices WHERE user_id = $1 AND device_id = $2 AND device_id NOT IN (${selectLivingDevices('$1')})`;

/**
 * Removes the device of a user that has been signed out the longest. Ended sessions are removed after a while: devices without any
 * come first, by their last use.
 * @returns undefined if all devices are signed in. `isRemoved` is false if a concurrent call has removed or signed in the device
 */
export async function removeSignedOutLongest(
  manager: EntityManager,
  userId: string,
): Promise<{ readonly deviceId: string; readonly isRemoved: boolean } | undefined> {
  const [found] = await manager.query<{ deviceId: string }[]>(SIGNED_OUT_LONGEST, [userId]);
  if (!found) return undefined;
  const { deviceId } = found;
  await manager.query(LOCK_ONE, [userId, deviceId]);
  const [, removed] = await manager.query<[unknown, number]>(REMOVE_SIGNED_OUT, [userId, deviceId]);
  return { deviceId, isRemoved: removed > 0 };
}
