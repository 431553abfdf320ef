import { Injectable, Logger } from '@nestjs/common';
import { Events, type DomainEvents } from '../events.js';

/** The domain events that operators are told of, under the fixed names of their log lines (docs/audit.md). */
export const AUDIT_NAMES = {
  'session.started': 'sign_in',
  'sign_in.refused': 'sign_in_refused',
  'refresh.refused': 'refresh_refused',
  'sign_out.requested': 'sign_out',
  'device.renamed': 'device_renamed',
  'device.removed': 'device_removed',
  'key.made': 'key_made',
  'key.revoked': 'key_revoked',
  'rate_limit.exceeded': 'rate_limited',
} as const satisfies Partial<Record<keyof DomainEvents, string>>;

/** Writes the audit trail: one line of the log an event, `"context": "Audit"`, ids only and never a secret. */
@Injectable()
export class Audit {
  private readonly logger = new Logger(Audit.name);

  constructor(events: Events) {
    for (const [event, audit] of Object.entries(AUDIT_NAMES)) {
      events.on(event as keyof typeof AUDIT_NAMES, (facts?: object) => this.logger.log({ audit, ...facts }));
    }
  }
}
