import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ChannelEvent } from '../../events.js';
import { UUID } from '../../http/parameters/uuid.js';

/** The latest offset of a user's history. Receivers read the event from the history (contract §7). */
export interface LatestOffset {
  readonly userId: string;
  readonly offset: number;
}

/** An event with `ttl` 0: no history has it, so it is sent whole. */
export type UnkeptEvent = ChannelEvent & { readonly offset: null };

export type Notification = LatestOffset | UnkeptEvent;

/** What one message contains. */
export interface Message {
  /** Name of the instance that sent it. */
  readonly from: string;
  readonly notifications: readonly Notification[];
  /** Whether a part of it is unknown: an instance of another version may have sent it. */
  readonly isDoubtful: boolean;
}

/** Characters of a message. The largest data of an event (json-data.ts) fits in. */
const LONGEST_MESSAGE = 1024 * 1024;
const SIGNATURE = /^\{"signature":"([A-Za-z0-9_-]{43})",/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** A notification as a part of a message. */
export function partOf(notification: Notification): string {
  return 'id' in notification
    ? JSON.stringify(notification)
    : JSON.stringify([notification.userId, notification.offset]);
}

/**
 * Encodes and signs a message (HMAC-SHA256 as the first member), since other clients may write to the same Redis or database.
 * @param key 32 bytes, the same on all instances
 */
export function encodeMessage(from: string, parts: readonly string[], key: Buffer): string {
  const json = `{"from":"${from}","notifications":[${parts.join()}]}`;
  return `{"signature":"${hmac(json, key)}",${json.slice(1)}`;
}

/** Decodes a message. Never throws. @returns undefined for anything that was not signed with this key */
export function decodeMessage(text: string, key: Buffer): Message | undefined {
  if (text.length > LONGEST_MESSAGE) return undefined;
  const json = verified(text, key);
  const { from, notifications: parts } = (json && objectOf(json)) || {};
  if (!isUuid(from) || !Array.isArray(parts)) return undefined;
  const notifications = parts.map(notificationOf).filter((one) => one !== undefined);
  return { from, notifications, isDoubtful: notifications.length < parts.length };
}

function verified(text: string, key: Buffer): string | undefined {
  const [start, signature] = SIGNATURE.exec(text) ?? [];
  if (start === undefined) return undefined;
  const json = `{${text.slice(start.length)}`;
  // Compared as text: the last character encodes only four bits, so four signatures would decode to the same bytes.
  return timingSafeEqual(Buffer.from(signature!), Buffer.from(hmac(json, key))) ? json : undefined;
}

function hmac(json: string, key: Buffer): string {
  return createHmac('sha256', key).update(json).digest('base64url');
}

function objectOf(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The sender holds the key; the types are checked since its version may differ. */
function notificationOf(part: unknown): Notification | undefined {
  if (Array.isArray(part)) {
    const [userId, offset] = part as unknown[];
    return isUuid(userId) && Number.isSafeInteger(offset) && (offset as number) > 0
      ? { userId, offset: offset as number }
      : undefined;
  }
  if (typeof part !== 'object' || part === null) return undefined;
  const { id, userId, deviceId, event, data, sentAt } = part as Record<string, unknown>;
  const isEvent =
    isUuid(id) &&
    isUuid(userId) &&
    (deviceId === null || isUuid(deviceId)) &&
    typeof event === 'string' &&
    data !== undefined &&
    typeof sentAt === 'string' &&
    TIME.test(sentAt);
  return isEvent ? { id, userId, deviceId, offset: null, event, data, sentAt } : undefined;
}

function isUuid(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value);
}
