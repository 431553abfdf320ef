import type { Device } from './device.entity.js';

/** What a sign-in says about its device, as SQL expressions. */
interface SignedInDevice {
  readonly userId: string;
  readonly deviceId: string;
  readonly deviceName: string;
  readonly userAgent: string;
}

/** Upserts a device, with VALUES, so that Citus sends it to one node. Values that the client leaves out stay. */
export function upsertNamedDevice({ userId, deviceId, deviceName, userAgent }: SignedInDevice): string {
  return `
      INSERT INTO devices (${COLUMNS})
      VALUES (${userId}, ${deviceId}, ${deviceName}, ${userAgent}, now())
      ${KEEP}`;
}

/**
 * Upserts devices of several users in the order of their keys; returns each with the text `facts` (DEVICE_FACTS).
 *
 * @param from member of the `WITH` with the columns of the table, and no device twice
 * @param after member of the `WITH` that is executed first
 */
export function upsertDevices(from: string, after: string): string {
  return `
      INSERT INTO devices (${COLUMNS})
      SELECT user_id, device_id, device_name, user_agent, now()
      FROM ${from}, (SELECT count(*) FROM ${after}) AS done
      WHERE device_id IS NOT NULL ORDER BY user_id, device_id
      ${KEEP}
      RETURNING user_id, ${DEVICE_FACTS}::text AS facts`;
}

const COLUMNS = 'user_id, device_id, device_name, user_agent, last_seen_at';
const KEEP = `ON CONFLICT (user_id, device_id) DO UPDATE
        SET device_name = coalesce(excluded.device_name, devices.device_name),
          user_agent = coalesce(excluded.user_agent, devices.user_agent),
          last_seen_at = excluded.last_seen_at`;

/** A condition, made from SQL expressions: the user has this device. */
export function hasDevice(userId: string, deviceId: string): string {
  return `EXISTS (SELECT FROM devices WHERE user_id = ${userId} AND device_id = ${deviceId})`;
}

/** Devices that a user may have (contract §4, POST /oauth2/token). */
const MOST_DEVICES = 2000;

/** A condition, made from SQL expressions: the device, or null, is new to the user, who has MOST_DEVICES. */
export function isDeviceBeyond(userId: string, deviceId: string): string {
  return `CASE
    WHEN ${deviceId}::uuid IS NULL THEN false
    WHEN NOT EXISTS (SELECT FROM devices WHERE user_id = ${userId} OFFSET ${MOST_DEVICES - 1} LIMIT 1) THEN false
    ELSE NOT ${hasDevice(userId, deviceId)} END`;
}

/** JSON, from the columns of a device: what `device.*` events carry (contract §7), see DeviceFacts. */
export const DEVICE_FACTS = `json_build_object(
        'device_id', device_id, 'device_name', device_name, 'user_agent', user_agent,
        'created_at', ${rfc3339('created_at')}, 'last_seen_at', ${rfc3339('last_seen_at')}
      )`;

/** DEVICE_FACTS of a device, as the text `data`. */
export function selectDeviceFacts(userId: string, deviceId: string): string {
  return `SELECT ${DEVICE_FACTS}::text AS data FROM devices WHERE user_id = ${userId} AND device_id = ${deviceId}`;
}

function rfc3339(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** A device as `device.*` events carry it (contract §7). Times: RFC 3339, UTC, with milliseconds. */
export interface DeviceFacts {
  device_id: string;
  device_name: string | null;
  user_agent: string | null;
  created_at: string;
  last_seen_at: string;
}

/** The facts of a device. DEVICE_FACTS makes them in SQL. */
export function deviceFacts(device: Device): DeviceFacts {
  return {
    device_id: device.deviceId,
    device_name: device.deviceName,
    user_agent: device.userAgent,
    created_at: device.createdAt.toISOString(),
    last_seen_at: device.lastSeenAt.toISOString(),
  };
}
