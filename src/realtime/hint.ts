import type { ChannelEvent } from '../events.js';
import { UUID } from '../http/uuid.js';
import { EVENT_NAME, OWN_EVENT_NAME } from './event-name.js';
import { isJsonData } from './json-data.js';

/** How far a user's history reaches, without the event itself. */
export interface Reach {
  readonly userId: string;
  readonly offset: number;
}

/** What one instance tells the others: `from` is its name. */
export type Hint = (ChannelEvent | Reach) & { readonly from: string };

/** Characters. The largest data of an event (json-data.ts) fits in, with everything around it. */
export const LONGEST_HINT = 1024 * 1024;

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Reads what another instance has said. Never throws, and trusts nothing: an instance of another version may write anything.
 * @returns undefined for anything that is not a hint
 */
export function parseHint(message: string): Hint | undefined {
  if (message.length > LONGEST_HINT) return undefined;
  const hint = objectOf(message);
  if (!hint || !isUuid(hint['from']) || !isUuid(hint['userId'])) return undefined;
  const { from, userId, offset } = hint as unknown as Reach & { from: string };
  if (!('id' in hint)) return isOffset(offset) ? { from, userId, offset } : undefined;
  if (!isEvent(hint)) return undefined;
  const { id, deviceId, event, data, sentAt } = hint;
  return { from, id, userId, deviceId, offset, event, data, sentAt };
}

function isEvent(hint: Record<string, unknown>): hint is Record<string, unknown> & ChannelEvent {
  const { id, deviceId, offset, event, data, sentAt } = hint;
  return (
    isUuid(id) &&
    (deviceId === null || isUuid(deviceId)) &&
    (offset === null || isOffset(offset)) &&
    typeof event === 'string' &&
    (EVENT_NAME.test(event) || OWN_EVENT_NAME.test(event)) &&
    isJsonData(data) &&
    typeof sentAt === 'string' &&
    TIME.test(sentAt)
  );
}

function isUuid(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value);
}

function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function objectOf(message: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(message);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
