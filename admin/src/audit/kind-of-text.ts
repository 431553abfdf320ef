import { call } from '../api/api.js';
import type { AuditEvent } from '../api/types.js';
import type { Filter } from './filter-names.js';

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const ADDRESS = /^[\da-f]*[.:][\da-f.:]*(?:\/\d{1,3})?$/i;
const ERROR = /^[a-z][a-z_]*$/;

/** Members of an event that are ids, the likeliest first. */
const IDS = ['request_id', 'user_id', 'session_id', 'device_id'] as const satisfies readonly Filter[];

export const isId = (text: string): boolean => UUID.test(text);

/**
 * Finds out what a person has pasted. Ids look alike, so the trail is asked for each.
 * @returns undefined for what the trail does not have, as names
 */
export async function kindOf(text: string): Promise<Filter | undefined> {
  if (ADDRESS.test(text)) return 'address';
  if (ERROR.test(text)) return 'error';
  if (!isId(text)) return undefined;
  const found = await Promise.all(
    IDS.map((id) => call<{ events: AuditEvent[] }>(`/audit?${id}=${text}&limit=1`)),
  );
  return IDS[found.findIndex(({ events }) => events.length > 0)] ?? 'request_id';
}
