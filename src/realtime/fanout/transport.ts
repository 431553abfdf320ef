import type { Notification } from './notification.js';

/** Receives what a transport reports. */
export interface TransportListener {
  /** A notification of another instance. */
  onNotification(notification: Notification): void;
  /** A message is not signed with our key, or unknown: it may have been about this user, or about any. */
  onDoubt(userId?: string): void;
  /** Notifications can be sent again. */
  onUp(): void;
  /** Notifications arrive again; earlier ones may have been lost. */
  onBack(): void;
}

/** Carries notifications between instances: Redis or PostgreSQL. It may lose them; the history is authoritative. */
export interface FanoutTransport {
  /** Bytes of JSON data that an event with `ttl` 0 may have (contract §7). */
  readonly largestUnkept: number;
  listen(listener: TransportListener): void;
  /** Whether notifications can be sent and arrive, as far as this instance knows. */
  readonly isConnected: boolean;
  /** Whether pushes may be accepted: their notifications can be sent, now or later. */
  isUp(): Promise<boolean>;
  /** Resolves when notifications of a user arrive; soon if the transport is down, since the history is read after its return. */
  subscribe(userId: string): Promise<void>;
  unsubscribe(userId: string): void;
  /** @throws if the notification was not sent, as far as this instance knows */
  send(notification: Notification): Promise<void>;
}

export const FANOUT_TRANSPORT = Symbol('FANOUT_TRANSPORT');
