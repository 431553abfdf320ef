import type { EntityManager } from 'typeorm';
import { answer } from '../http/answer.js';
import { parseCursor } from '../http/parameters/cursor.js';
import { readPage, selectPage } from '../database/page.js';
import { browserOf } from '../http/user-agent.js';
import { isOnline } from '../channel/presence.sql.js';
import { selectEndedSessions, selectLivingDevices } from '../token/sessions/session.sql.js';
import { Device } from './device.entity.js';
import { DeviceView, type DeviceList } from './devices.dto.js';

// Each part names the user, so that Citus sends it to the user's node.
const known = (from: string, more = ''): string => `
  SELECT device_id, device_name, user_agent, address, created_at, last_seen_at${more},
    device_id IN (${selectLivingDevices('$1')}) AS signed_in, ${isOnline('$1', 'd.device_id')} AS online
  FROM (${from}) AS d`;

const DEVICE = known('SELECT * FROM devices WHERE user_id = $1 AND device_id = $2');

// The page is selected first, so that sockets of its devices only are read.
const DEVICES = `${known(selectPage('devices', 'last_seen_at', 'device_id'), ', cursor')}
  ORDER BY last_seen_at DESC, device_id`;

type Row = Omit<DeviceView, 'browser' | 'os'>;
const viewOf = (row: Row): DeviceView => answer(DeviceView, { ...row, ...browserOf(row.user_agent) });

/** Returns a page, newest use first. @param cursor `next_cursor` of the previous page */
export async function findDevices(
  manager: EntityManager,
  userId: string,
  cursor?: string,
): Promise<DeviceList> {
  const { page, next } = await readPage(manager, DEVICES, viewOf, userId, parseCursor(cursor));
  return { devices: page, ...next };
}

export async function findDevice(
  manager: EntityManager,
  userId: string,
  deviceId: string,
): Promise<DeviceView | undefined> {
  const [device] = await manager.query<Row[]>(DEVICE, [userId, deviceId]);
  return device && viewOf(device);
}

/** Removes all devices of a user, whom the caller has locked. */
export async function removeDevices(manager: EntityManager, userId: string): Promise<void> {
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

/**
 * Removes the device of a user, whom the caller has locked, that has been signed out the longest. Ended sessions are removed after a
 * while: devices without any come first, by their last use.
 * @returns id of the device; undefined if all devices are signed in
 */
export async function removeSignedOutLongest(
  manager: EntityManager,
  userId: string,
): Promise<string | undefined> {
  const [found] = await manager.query<{ deviceId: string }[]>(SIGNED_OUT_LONGEST, [userId]);
  if (found) await manager.delete(Device, { userId, deviceId: found.deviceId });
  return found?.deviceId;
}
