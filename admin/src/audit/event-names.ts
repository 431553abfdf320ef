import type { AuditName } from '../../../src/config/settings/audit-names.js';

/** Events of the audit trail (docs/audit.md#the-audit-trail), for people. */
export const EVENT_NAMES: Readonly<Record<string, string>> = {
  sign_in: 'Signed in',
  sign_in_refused: 'Sign-in refused',
  sign_out: 'Signed out',
  refresh_refused: 'Refresh refused',
  session_lost: 'Session lost',
  user_suspended: 'User suspended',
  user_restored: 'User restored',
  user_removed: 'User removed',
  claims_changed: 'Claims changed',
  device_renamed: 'Device renamed',
  device_removed: 'Device removed',
  key_made: 'Signing key made',
  key_revoked: 'Signing key revoked',
  service_key_refused: 'Service key refused',
  provider_tested: 'Provider tested',
  directory_changed: 'Directory changed',
  webhook_paused: 'Webhook paused',
  webhook_event_set_aside: 'Webhook event set aside',
} satisfies Record<AuditName, string>;
