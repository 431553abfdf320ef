/** A device as `device.*` events carry it, and the HTTP endpoints as well. Times: RFC 3339, UTC, with milliseconds. */
export interface DeviceFacts {
  device_id: string;
  device_name: string | null;
  user_agent: string | null;
  created_at: string;
  last_seen_at: string;
}

/** A row of `devices`. */
export interface DeviceRow {
  readonly device_id: string;
  readonly device_name: string | null;
  readonly user_agent: string | null;
  readonly created_at: Date;
  readonly last_seen_at: Date;
}

export function deviceFacts(row: DeviceRow): DeviceFacts {
  return {
    device_id: row.device_id,
    device_name: row.device_name,
    user_agent: row.user_agent,
    created_at: row.created_at.toISOString(),
    last_seen_at: row.last_seen_at.toISOString(),
  };
}
