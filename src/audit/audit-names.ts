/** Core events. `npm run check` fails until docs/audit.md, `admin/` and `packages/server/` have new ones. */
export const CORE_AUDIT_NAMES = [
  'sign_in',
  'sign_in_refused',
  'sign_out',
  'refresh_refused',
  'session_lost',
  'user_removed',
  'claims_changed',
  'device_renamed',
  'device_removed',
  'key_made',
  'key_revoked',
  'service_key_refused',
  'webhook_paused',
  'webhook_event_set_aside',
] as const;

/** Features add the names of their events, which their `auditNames` lists as well. @public */
export interface AuditNames extends Record<(typeof CORE_AUDIT_NAMES)[number], true> {}

export type AuditName = keyof AuditNames;

/** Features add types of actors. @public */
export interface ActorTypes extends Record<'user' | 'service_key' | 'provider' | 'system', true> {}

export type ActorType = keyof ActorTypes;

/** Features add sources of claims. @public */
export interface ChangeSources extends Record<'provider' | 'application', true> {}

export type ChangeSource = keyof ChangeSources;
