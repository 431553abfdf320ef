import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ChannelEvent } from '../../platform/events.js';

/**
 * The latest offset of a user's history, from which receivers read the event
 * (docs/scaling-out.md#do-you-need-redis).
 */
export interface LatestOffset {
  readonly userId: string;
  readonly offset: number;
}

/** An event with `ttl` 0 is sent whole, once for many users: no history has it. */
interface TransientEvent extends Omit<ChannelEvent, 'id' | 'userId'> {
  readonly offset: null;
  /** Users, each with the id of their event. */
  readonly to: readonly (readonly [userId: string, id: string])[];
}

export type Notification = LatestOffset | TransientEvent;

/** Users of one notification: with the largest data it fits into a message of PostgreSQL. */
const MOST_USERS = 40;

/**
 * Returns the notifications of events: the latest offset of each history, and events that no history has.
 * Neighbours that differ only in their user are one.
 */
export function toNotifications(events: readonly ChannelEvent[]): Notification[] {
  const latest = new Map<string, number>();
  const transient: (TransientEvent & { to: (readonly [string, string])[] })[] = [];
  for (const { id, userId, offset, ...event } of events) {
    if (offset !== null) {
      latest.set(userId, Math.max(offset, latest.get(userId) ?? 0));
      continue;
    }
    const last = transient.at(-1);
    if (last && last.to.length < MOST_USERS && isSame(last, event)) last.to.push([userId, id]);
    else transient.push({ ...event, offset, to: [[userId, id]] });
  }
  return [...[...latest].map(([userId, offset]) => ({ userId, offset })), ...transient];
}

function isSame(
  one: Omit<TransientEvent, 'to' | 'offset'>,
  other: Omit<TransientEvent, 'to' | 'offset'>,
): boolean {
  const { event, data, deviceId, sentAt } = one;
  return (
    data === other.data && event === other.event && deviceId === other.deviceId && sentAt === other.sentAt
  );
}

/**
 * Label of the key with which messages are signed. It changes with their format, so receivers need not
 * validate what is signed.
 */
export const MESSAGE_KEY = 'notifications-2';

/** Characters; the largest data of an event fits in. */
const LONGEST_MESSAGE = 1024 * 1024;
/** Characters of an HMAC-SHA256 in base64url. */
const SIGNATURE_LENGTH = 43;

/**
 * Encodes and signs a message, since other clients may write to Redis or the database.
 * @param notifications as JSON
 */
export function encodeMessage(from: string, notifications: readonly string[], key: Buffer): string {
  const json = `{"from":"${from}","notifications":[${notifications.join()}]}`;
  return hmac(json, key) + json;
}

/** Returns whether a message says that this instance sent it; the signature is not verified. */
export function isFrom(text: string, name: string): boolean {
  return text.startsWith(`{"from":"${name}"`, SIGNATURE_LENGTH);
}

/** @returns undefined for anything that was not signed with this key */
export function decodeMessage(text: string, key: Buffer): readonly Notification[] | undefined {
  if (text.length > LONGEST_MESSAGE) return undefined;
  const signature = Buffer.from(text.slice(0, SIGNATURE_LENGTH));
  const json = text.slice(SIGNATURE_LENGTH);
  const expected = Buffer.from(hmac(json, key));
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return undefined;
  return (JSON.parse(json) as { notifications: readonly Notification[] }).notifications;
}

function hmac(json: string, key: Buffer): string {
  return createHmac('sha256', key).update(json).digest('base64url');
}
