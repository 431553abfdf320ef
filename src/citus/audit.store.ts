import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { StoredAuditEvent } from '../audit/audit-event.entity.js';
import type { AuditRow } from '../audit/audit-event.js';
import { timeOfRefusal } from '../audit/audit.sql.js';
import { AuditStore } from '../audit/audit.store.js';
import { chunks } from '../platform/database/batching.js';

/** Rows of one statement, which may have 65,535 parameters. */
const LARGEST_INSERT = 4000;

/** Citus routes an INSERT with values to one node: one statement for each user. */
@Injectable()
export class CitusAuditStore extends AuditStore {
  protected override async insert(
    manager: EntityManager,
    rows: readonly AuditRow[],
    times?: readonly number[],
  ): Promise<void> {
    const timed = rows.map((row, i) => ({ ...row, ...(times && { at: timeAt(times[i]!, i) }) }));
    for (const userId of new Set(rows.map((row) => row.user_id))) {
      const own = timed.filter((row) => row.user_id === userId);
      for (const some of chunks(own, LARGEST_INSERT)) {
        const insert = manager.createQueryBuilder().insert().into(StoredAuditEvent);
        // `updateEntity`: or TypeORM would write `at` into the rows. Its type takes unknown values for
        // functions.
        await insert
          .values(some as never[])
          .updateEntity(false)
          .execute();
      }
    }
  }
}

function timeAt(at: number, nth: number): () => string {
  return () => timeOfRefusal(String(at), String(nth));
}
