const COLUMNS = 'user_id, device_id, device_name, user_agent, address, last_seen_at';

// Values that the client leaves out stay.
const KEEP = `ON CONFLICT (user_id, device_id) DO UPDATE
        SET device_name = coalesce(excluded.device_name, devices.device_name),
          user_agent = coalesce(excluded.user_agent, devices.user_agent),
          address = excluded.address,
          last_seen_at = excluded.last_seen_at`;

/** Upserts the device `$2` of the user `$1` with name `$3`, user agent `$4` and address `$5`; Citus sends it to one node. */
export const UPSERT_DEVICE = `
      INSERT INTO devices (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, now())
      ${KEEP}`;

/**
 * Upserts devices of several users in the order of their keys; returns each with the text `facts` (DEVICE_FACTS).
 * @param from member of the `WITH` with the columns of the table, and no device twice
 * @param after member of the `WITH` that is executed first
 */
export function upsertDevices(from: string, after: string): string {
  return `
      INSERT INTO devices (${COLUMNS})
      SELECT user_id, device_id, device_name, user_agent, address, now()
      FROM ${from}, (SELECT count(*) FROM ${after}) AS done
      WHERE device_id IS NOT NULL ORDER BY user_id, device_id
      ${KEEP}
      RETURNING user_id, ${DEVICE_FACTS}::text AS facts`;
}

/** Condition: the user has this device. */
export function hasDevice(userId: string, deviceId: string): string {
  return `EXISTS (SELECT FROM devices WHERE user_id = ${userId} AND device_id = ${deviceId})`;
}

/** Devices that a user may have (docs/security.md#database). */
const MOST_DEVICES = 2000;

/** Condition: the device is new (not null), and the user has MOST_DEVICES already. */
export function isDeviceBeyond(userId: string, deviceId: string): string {
  return `CASE
    WHEN ${deviceId}::uuid IS NULL THEN false
    WHEN NOT EXISTS (SELECT FROM devices WHERE user_id = ${userId} OFFSET ${MOST_DEVICES - 1} LIMIT 1) THEN false
    ELSE NOT ${hasDevice(userId, deviceId)} END`;
}

/**
 * A device as `device.*` events carry it (docs/realtime.md#what-the-service-sends): JSON, from its columns.
 * Times: RFC 3339, UTC, with milliseconds.
 */
export const DEVICE_FACTS = `json_build_object(
        'device_id', device_id, 'device_name', device_name, 'user_agent', user_agent,
        'created_at', ${rfc3339('created_at')}, 'last_seen_at', ${rfc3339('last_seen_at')}
      )`;

/** Selects DEVICE_FACTS of the device `$2` of the user `$1`, as the text `data`. */
export const SELECT_FACTS = `
  SELECT ${DEVICE_FACTS}::text AS data FROM devices WHERE user_id = $1 AND device_id = $2`;

function rfc3339(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
