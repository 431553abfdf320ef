/** Filters of `GET /audit`, as the address of the view has them. */
export const FILTERS = [
  'user_id',
  'event',
  'provider',
  'result',
  'error',
  'address',
  'request_id',
  'session_id',
  'device_id',
  'new_device',
  'new_network',
  'since',
  'until',
] as const;

export type Filter = (typeof FILTERS)[number];

/** Filters without a separate field: they are shown once they are set. */
export const CHIPS = {
  user_id: 'User',
  error: 'Error',
  address: 'Address',
  request_id: 'Request',
  session_id: 'Session',
  device_id: 'Device',
  new_device: 'New device',
  new_network: 'New network',
} as const satisfies Partial<Record<Filter, string>>;

/** Returns the address of the audit trail with these filters only. */
export function trailOf(filters: Partial<Record<Filter, string>>): string {
  return `/audit?${new URLSearchParams(filters).toString()}`;
}
