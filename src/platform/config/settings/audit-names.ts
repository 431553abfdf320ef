/**
 * Events of the audit trail. `npm run check` fails until the table in docs/audit.md, the administration page
 * and `@latchkey/server` have a new one.
 */
export const AUDIT_NAMES = [
  'sign_in',
  'sign_in_refused',
  'sign_out',
  'refresh_refused',
  'session_lost',
  'user_suspended',
  'user_restored',
  'user_removed',
  'claims_changed',
  'device_renamed',
  'device_removed',
  'key_made',
  'key_revoked',
  'service_key_refused',
  'provider_tested',
  'directory_changed',
  'signal_received',
  'device_requested',
  'device_approved',
  'device_denied',
  'webhook_paused',
  'webhook_event_set_aside',
] as const;

export type AuditName = (typeof AUDIT_NAMES)[number];
