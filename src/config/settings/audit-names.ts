/** Names of audit events (contract §9). */
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
  'webhook_paused',
] as const;
