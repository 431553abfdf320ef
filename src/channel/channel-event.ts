/** An event on a user's channel (contract §7). */
export interface ChannelEvent {
  readonly id: string;
  readonly userId: string;
  /** Only for this device; null: for all of the user's. */
  readonly deviceId: string | null;
  /** Its number in the user's history, one more than the last; null: not kept (`ttl` 0). */
  readonly offset: number | null;
  readonly event: string;
  readonly data: unknown;
  /** RFC 3339, UTC, with milliseconds. */
  readonly sentAt: string;
}

/** Seconds for which the service's own events are kept (contract §7). */
export const OWN_EVENTS_TTL = 86_400;
