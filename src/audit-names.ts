import { CORE_AUDIT_NAMES, type AuditName } from './audit/audit-names.js';
import { FEATURES } from './features.js';
import { SettingErrors } from './platform/config/settings/invalid-settings.js';
import { read } from './platform/config/settings/setting-row.js';
import { settingsTable } from './platform/config/settings/settings-table.js';
import type { Settings } from './platform/config/settings/settings.js';
import { eventNames } from './platform/config/settings/webhook-settings.js';

/** Names of all events of the audit trail. */
export const AUDIT_NAMES: readonly AuditName[] = [
  ...CORE_AUDIT_NAMES,
  ...FEATURES.flatMap(({ auditNames = [] }) => auditNames),
];

/** @throws InvalidSettings if WEBHOOK_EVENTS names an event that no part of the service writes */
export function checkWebhookEvents({ webhookEvents }: Settings): void {
  const errors = new SettingErrors();
  const { name } = settingsTable.webhookEvents;
  read({ parser: eventNames(AUDIT_NAMES) }, name, webhookEvents?.join(), errors);
  errors.check();
}
