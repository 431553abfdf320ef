import { CORE_AUDIT_NAMES, type AuditName } from './audit/audit-names.js';
import type { Feature } from './extensions.js';
import { administration } from './features/administration/administration.feature.js';
import { admission } from './features/admission/admission.feature.js';
import { agents } from './features/agents/agents.feature.js';
import { demoPage } from './features/demo-page/demo-page.feature.js';
import { deviceGrant } from './features/device-grant/device-grant.feature.js';
import { forwardAuth } from './features/forward-auth/forward-auth.feature.js';
import { linking } from './features/linking/linking.feature.js';
import { providerEvents } from './features/provider-events/provider-events.feature.js';
import { recheck } from './features/recheck/recheck.feature.js';
import { sampleProvider } from './features/sample-provider/sample-provider.feature.js';
import { scim } from './features/scim/scim.feature.js';
import { sessionLimit } from './features/session-limit/session-limit.feature.js';

/** All features. No other file imports one. */
export const FEATURES: readonly Feature[] = [
  administration,
  admission,
  agents,
  demoPage,
  deviceGrant,
  forwardAuth,
  linking,
  providerEvents,
  recheck,
  sampleProvider,
  scim,
  sessionLimit,
];

/** Names of all events of the audit trail. */
export const AUDIT_NAMES: readonly AuditName[] = [
  ...CORE_AUDIT_NAMES,
  ...FEATURES.flatMap(({ auditNames = [] }) => auditNames),
];
