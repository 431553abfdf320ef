import { Injectable } from '@nestjs/common';
import { AuditWalks, BY_INDEX } from '../audit/search/audit-walks.js';
import type { AuditFilters } from '../audit/search/audit.dto.js';

/** Each shard returns as many events as a walk has, and there are 16 to 32 shards. */
const PART = 20;

/** One node has the events of a user, all nodes those of all users. */
@Injectable()
export class CitusAuditWalks extends AuditWalks {
  protected override readonly preparation = `SET LOCAL citus.propagate_set_commands = 'local'; ${BY_INDEX}`;

  protected override limit(most: number, { user_id: userId }: AuditFilters): number {
    return userId === undefined ? most / PART : most;
  }

  /** Citus finds the node of a user by an equation. */
  protected override moreConditions(
    { user_id: userId }: AuditFilters,
    value: (column: 'user_id') => string,
  ): string[] {
    return userId ? [`user_id = ${value('user_id')}`] : [];
  }
}
