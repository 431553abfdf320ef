/** What a sign-in says about its device, as SQL expressions; all of the parameters may be null. */
interface SignedInDevice {
  readonly userId: string;
  readonly deviceId: string;
  readonly deviceName: string;
  readonly userAgent: string;
}

/**
 * Inserts the device, where one is named, and returns its row. A device that signs in again keeps its row, and the values
 * that the client leaves out this time.
 * @param after a member of the same `WITH` that is done first, whatever it returns
 */
export function upsertDevice(
  { userId, deviceId, deviceName, userAgent }: SignedInDevice,
  after: string,
): string {
  return `
      INSERT INTO devices (user_id, device_id, device_name, user_agent, last_seen_at)
      SELECT ${userId}, ${deviceId}::uuid, ${deviceName}::text, ${userAgent}::text, now()
      FROM (SELECT count(*) FROM ${after}) AS done WHERE ${deviceId} IS NOT NULL
      ${KEEP}
      RETURNING device_id, device_name, user_agent, created_at, last_seen_at`;
}

/** The same for a device that is named: with VALUES, so that Citus sends it to one node. */
export function upsertNamedDevice({ userId, deviceId, deviceName, userAgent }: SignedInDevice): string {
  return `
      INSERT INTO devices (user_id, device_id, device_name, user_agent, last_seen_at)
      VALUES (${userId}, ${deviceId}, ${deviceName}, ${userAgent}, now())
      ${KEEP}`;
}

const KEEP = `ON CONFLICT (user_id, device_id) DO UPDATE
        SET device_name = coalesce(excluded.device_name, devices.device_name),
          user_agent = coalesce(excluded.user_agent, devices.user_agent),
          last_seen_at = excluded.last_seen_at`;

/** A condition, made from SQL expressions: the user has this device. */
export function hasDevice(userId: string, deviceId: string): string {
  return `EXISTS (SELECT FROM devices WHERE user_id = ${userId} AND device_id = ${deviceId})`;
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
