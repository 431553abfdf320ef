import { AUDIT_NAMES } from './audit-names.js';
import { list } from './parsers.js';
import { atMost, CALLED_URLS, isCalledUrl } from './signed-calls.js';

/** Addresses of WEBHOOK_URLS, each once; every address has its own sender. */
export const webhookUrls = atMost(20, list(CALLED_URLS, isCalledUrl));

export const auditNames = list(`names of audit events (${AUDIT_NAMES.join(', ')})`, (entry) =>
  AUDIT_NAMES.some((name) => name === entry),
);

/** Refusals, which strangers cause, only on request. */
export const DEFAULT_EVENTS: readonly string[] = AUDIT_NAMES.filter((name) => !name.endsWith('_refused'));
