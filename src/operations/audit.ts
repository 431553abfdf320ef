import { Injectable, Logger } from '@nestjs/common';
import { Events, type DomainEvents } from '../events.js';
import { LineLimit } from '../http/middleware/line-limit.js';

/** Domain events that are logged, with the fixed names of their log lines (docs/audit.md). */
export const AUDIT_NAMES = {
  'refresh.refused': 'refresh_refused',
  'sign_out.requested': 'sign_out',
  'provider_logout.obeyed': 'provider_logout',
  'device.removed': 'device_removed',
  'user.removed': 'user_removed',
  'key.made': 'key_made',
  'key.revoked': 'key_revoked',
  'rate_limit.exceeded': 'rate_limited',
} as const satisfies Partial<Record<keyof DomainEvents, string>>;

// Requests without a credential cause these: a flood must neither fill the disk nor hide the other events.
const LIMITED: ReadonlySet<string> = new Set(['refresh.refused', 'rate_limit.exceeded']);

/** A refused token may be made up, so its ids must not appear under the names of real users' ids. */
function asClaimed(facts?: object): object {
  const { error, session } = facts as DomainEvents['refresh.refused'][0];
  return session === undefined ? { error } : { error, claimed: session };
}

/** Writes the audit trail: one log line for each event, `"context": "Audit"`, with ids only and never a secret. */
@Injectable()
export class Audit {
  private readonly logger = new Logger(Audit.name);

  constructor(events: Events) {
    for (const [event, audit] of Object.entries(AUDIT_NAMES)) {
      const fieldsOf = event === 'refresh.refused' ? asClaimed : (facts?: object) => facts;
      const limit = LIMITED.has(event)
        ? new LineLimit((left_out) => this.logger.log({ audit, left_out }))
        : undefined;
      events.on(event as keyof typeof AUDIT_NAMES, (facts?: object) => {
        if (limit?.admits() !== false) this.logger.log({ audit, ...fieldsOf(facts) });
      });
    }
  }
}
