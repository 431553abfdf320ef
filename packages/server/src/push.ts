import type { ServiceCalls } from './service-calls.js';

/** An event for a user's channel (contract §4). */
export interface PushedEvent {
  /** The user: `claims.sub`. */
  userId: string;
  /** Its name: letters, digits and `_ . : -`, 128 at most. */
  event: string;
  /** What it carries: any JSON. */
  data?: unknown;
  /** Only to this device: `claims.device_id`. */
  deviceId?: string;
  /** Seconds for which it waits for devices that are not connected. Default a day; 0: only for connected ones. */
  ttl?: number;
  /** The same key within 24 hours means the same event: it is sent once, however often it is tried. */
  idempotencyKey?: string;
}

export interface Pushed {
  readonly id: string;
  /** Its number in the user's history; null with `ttl` 0. */
  readonly offset: number | null;
  /** Whether a device is connected at this moment. */
  readonly online: boolean;
}

export function push(calls: ServiceCalls, pushed: PushedEvent, timeoutMs: number): Promise<Pushed> {
  const { userId, event, data, deviceId, ttl, idempotencyKey } = pushed;
  const headers = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
  const body = { user_id: userId, event, data, device_id: deviceId, ttl };
  return calls.post('/push', { right: 'push', body, headers, timeoutMs });
}
