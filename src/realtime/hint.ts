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
  const object = objectOf(message);
  if (!object || !isUuid(object['from'])) return undefined;
  const hint = hintOf(object);
  return hint && { from: object['from'], ...hint };
}

/** The same of an object that JSON.parse has made. */
export function hintOf(object: Record<string, unknown>): ChannelEvent | Reach | undefined {
  const { userId, offset } = object;
  if (!isUuid(userId)) return undefined;
  if (!('id' in object)) return isOffset(offset) ? { userId, offset } : undefined;
  if (!isEvent(object)) return undefined;
  const { id, deviceId, event, data, sentAt } = object;
  return { id, userId, deviceId, offset: object.offset, event, data, sentAt };
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
    TIME.test(sentAt) &&
    !Number.isNaN(Date.parse(sentAt))
  );
}

export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value);
}

function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

/** What JSON says, where that is an object or an array; undefined for any other text. Never throws. */
export function objectOf(message: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(message);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
