function rfc3339(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** JSON, from the columns of `devices`: what `device.*` events carry (contract §7), see DeviceFacts. */
export const DEVICE_FACTS = `json_build_object(
        'device_id', device_id, 'device_name', device_name, 'user_agent', user_agent,
        'created_at', ${rfc3339('created_at')}, 'last_seen_at', ${rfc3339('last_seen_at')}
      )`;
