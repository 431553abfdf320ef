import type { ChangedClaims, EndedSession, VoidedClaims } from '../../platform/events.js';
import { eventText } from '../../platform/http/event-stream.js';

// Events of the session feed (docs/ended-sessions.md#session-revocation-feed). JSON has a Date as RFC 3339,
// UTC.

export function formatEnded({ sessionId, userId, deviceId, endedAt, cause, until }: EndedSession): string {
  const ids = { session_id: sessionId, user_id: userId, device_id: deviceId };
  return eventText('ended', { ...ids, ended_at: endedAt, ...(cause !== null && { cause }), until });
}

export function formatChanged({ userId, claims, changedAt, until }: ChangedClaims): string {
  return eventText('claims_changed', { user_id: userId, claims, changed_at: changedAt, until });
}

export function formatVoided({ userId, voidedAt, until }: VoidedClaims): string {
  return eventText('claims_voided', { user_id: userId, voided_at: voidedAt, until });
}

export function formatRevoked(kid: string): string {
  return eventText('key_revoked', { kid });
}
