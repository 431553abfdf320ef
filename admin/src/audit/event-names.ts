import type { AuditName } from '../../../src/audit/audit-names.js';
import { textsOf } from '../features.js';

/** Causes of ends, the `reason` of `sign_out` (docs/guides/session-length.md#why-a-session-has-ended), for people. */
export const CAUSES: Readonly<Record<string, string>> = {
  idle: 'Nobody used the session',
  too_many: 'The user signed in elsewhere, beyond the limit of sessions',
  not_allowed: 'The rule of the provider does not admit the user any more',
  provider_ended: 'The identity provider ended its session or the account',
  suspended: 'The user was suspended',
  removed: 'The user was removed',
  replaced: 'The same browser signed in again',
  ...textsOf('causes'),
};

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
  webhook_paused: 'Webhook paused',
  webhook_event_set_aside: 'Webhook event set aside',
  ...textsOf('events'),
} satisfies Record<AuditName, string> & Record<string, string>;
