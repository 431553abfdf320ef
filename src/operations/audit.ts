import { Injectable, Logger } from '@nestjs/common';
import { Events, type DomainEvents } from '../events.js';
import { LineLimit } from '../http/middleware/line-limit.js';

/** The domain events that operators are told of, under the fixed names of their log lines (docs/audit.md). */
export const AUDIT_NAMES = {
  'session.started': 'sign_in',
  'sign_in.refused': 'sign_in_refused',
  'refresh.refused': 'refresh_refused',
  'sign_out.requested': 'sign_out',
  'provider_logout.obeyed': 'provider_logout',
  'device.renamed': 'device_renamed',
  'device.removed': 'device_removed',
  'user.removed': 'user_removed',
  'key.made': 'key_made',
  'key.revoked': 'key_revoked',
  'rate_limit.exceeded': 'rate_limited',
} as const satisfies Partial<Record<keyof DomainEvents, string>>;

// Anyone who can send a request can cause these: a flood must neither fill the disk nor hide the other events.
const OF_STRANGERS: ReadonlySet<string> = new Set([
  'sign_in.refused',
  'refresh.refused',
  'rate_limit.exceeded',
]);

/** A refused token may be made up, and so may its ids: they must not stand where the ids of real users do. */
function claimedBy(facts?: object): object {
  const { error, session } = facts as DomainEvents['refresh.refused'][0];
  return session === undefined ? { error } : { error, claimed: session };
}

/** Writes the audit trail: one log line for each event, `"context": "Audit"`, ids only and never a secret. */
@Injectable()
export class Audit {
  private readonly logger = new Logger(Audit.name);

  constructor(events: Events) {
    for (const [event, audit] of Object.entries(AUDIT_NAMES)) {
      const lineOf = event === 'refresh.refused' ? claimedBy : (facts?: object) => facts;
      const limit = OF_STRANGERS.has(event)
        ? new LineLimit((left) => this.logger.log({ audit, left_out: left }))
        : undefined;
      events.on(event as keyof typeof AUDIT_NAMES, (facts?: object) => {
        if (limit?.admits() !== false) this.logger.log({ audit, ...lineOf(facts) });
      });
    }
  }
}
