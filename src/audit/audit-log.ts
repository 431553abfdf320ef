import { Injectable, Logger } from '@nestjs/common';
import { Events } from '../platform/events.js';
import { LineLimit } from '../platform/http/middleware/line-limit.js';

/** Logs the audit trail, `"context": "Audit"`. Any client can cause refusals: they must not fill the disk. */
@Injectable()
export class AuditLog {
  private readonly logger = new Logger('Audit');
  private readonly limit = new LineLimit<string>((event, left_out) => this.logger.log({ event, left_out }));

  constructor(events: Events) {
    events.on('audit.recorded', (recorded) => {
      for (const one of recorded) {
        if (one.result === 'ok' || this.limit.admits(one.event)) this.logger.log(one);
      }
    });
    // Only logged: the refused requests themselves are counted by the limits.
    events.on('rate_limit.exceeded', ({ limit, ...subject }) => {
      const event = 'rate_limited';
      const whom = 'userId' in subject ? { user_id: subject.userId } : subject;
      if (this.limit.admits(event)) this.logger.log({ event, limit, ...whom });
    });
  }
}
