import { Injectable, Logger } from '@nestjs/common';
import { Events } from '../events.js';
import { LineLimit } from '../http/middleware/line-limit.js';
import type { AuditName } from './audit-event.js';

/** Logs the events of the audit trail, `"context": "Audit"`. Refusals, which any client can cause, must not fill the disk. */
@Injectable()
export class AuditLog {
  private readonly logger = new Logger('Audit');
  private readonly limits = new Map<AuditName, LineLimit>();

  constructor(events: Events) {
    events.on('audit.recorded', (recorded) => {
      for (const one of recorded) {
        if (one.result === 'ok' || this.limitOf(one.event).admits()) this.logger.log(one);
      }
    });
  }

  private limitOf(event: AuditName): LineLimit {
    let limit = this.limits.get(event);
    if (!limit) {
      limit = new LineLimit((left_out) => this.logger.log({ event, left_out }));
      this.limits.set(event, limit);
    }
    return limit;
  }
}
