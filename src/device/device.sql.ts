import { lastUse } from '../database/last-use.js';

/** Condition: the user has this device. */
export function hasDevice(userId: string, deviceId: string): string {
  return `EXISTS (SELECT FROM devices WHERE user_id = ${userId} AND device_id = ${deviceId})`;
}

/**
 * A device as `device.*` events carry it (docs/realtime.md#what-the-service-sends): JSON, from its columns.
 * Times: RFC 3339, UTC, with milliseconds.
 */
export const DEVICE_FACTS = `json_build_object(
        'device_id', device_id, 'device_name', device_name, 'user_agent', user_agent,
        'created_at', ${rfc3339('created_at')}, 'last_seen_at', ${rfc3339('last_seen_at')}
      )`;

/** Renames the device `$2` of the user `$1` to `$3`, and selects its `facts`: Citus rejects such functions in RETURNING. */
export const RENAME_DEVICE = `
  WITH renamed AS (UPDATE devices SET device_name = $3 WHERE user_id = $1 AND device_id = $2 RETURNING *)
  SELECT ${DEVICE_FACTS} AS facts FROM renamed`;

function rfc3339(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** See LastSeen. */
export const DEVICE_USE = lastUse('devices', 'last_seen_at', ['user_id', 'device_id']);
