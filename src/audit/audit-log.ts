import { Injectable, Logger } from '@nestjs/common';
import { Events } from '../events.js';
import { LineLimit } from '../http/middleware/line-limit.js';

/** Logs the events of the audit trail, `"context": "Audit"`. Refusals, which any client can cause, must not fill the disk. */
@Injectable()
export class AuditLog {
  private readonly logger = new Logger('Audit');
  private readonly limits = new Map<string, LineLimit>();

  constructor(events: Events) {
    events.on('audit.recorded', (recorded) => {
      for (const one of recorded) {
        if (one.result === 'ok' || this.limitOf(one.event).admits()) this.logger.log(one);
      }
    });
    // Only logged: the refused requests themselves are counted by the limits.
    events.on('rate_limit.exceeded', ({ limit, ...subject }) => {
      const event = 'rate_limited';
      const whom = 'userId' in subject ? { user_id: subject.userId } : subject;
      if (this.limitOf(event).admits()) this.logger.log({ event, limit, ...whom });
    });
  }

  private limitOf(event: string): LineLimit {
    let limit = this.limits.get(event);
    if (!limit) {
      limit = new LineLimit((left_out) => this.logger.log({ event, left_out }));
      this.limits.set(event, limit);
    }
    return limit;
  }
}
