import { Injectable, type Type } from '@nestjs/common';
import { AuditStore } from '../audit/audit.store.js';
import { AuditWalks, BY_INDEX } from '../audit/search/audit-walks.js';
import { SignInStore } from '../auth/sign-in/sign-in.store.js';
import { ChannelHistory } from '../channel/channel.history.js';
import type { Replacements } from '../platform/database/replaceable.js';
import {
  ExpiredRows,
  REMOVAL_LOCK,
  type Batch,
  type ExpiringTable,
} from '../operations/removal/expired-rows.js';
import { PushWriter } from '../realtime/push/push-writer.js';
import { RefreshStore } from '../token/refresh/refresh.store.js';
import { LIVING, MOST_SESSIONS } from '../token/sessions/session.sql.js';
import { SessionStore } from '../token/sessions/session.store.js';
import { Totals, type Counted } from '../token/sessions/totals.js';
import { UserChanges } from '../user/user-changes.store.js';
import { CitusChannelHistory } from './channel.history.js';
import { CitusPushWriter } from './push-writer.js';
import { CitusRefreshStore } from './refresh.store.js';
import { CitusSignInStore } from './sign-in.store.js';
import type { AuditFilters } from '../audit/search/audit.dto.js';
import { type EntityManager, DataSource } from 'typeorm';
import { StoredAuditEvent } from '../audit/audit-event.entity.js';
import type { AuditRow } from '../audit/audit-event.js';
import { timeOfRefusal } from '../audit/audit.sql.js';
import { chunks } from '../platform/database/batching.js';

// Raw: the table is any one with an expiry, and the lock belongs to no table.
const buildSpan = ({ table, column = 'expires_at', until = 'now()' }: ExpiringTable): string => `
  SELECT min(${column})::text AS "from", (min(${column}) + make_interval(secs => $2))::text AS "to"
  FROM ${table} WHERE ${column} >= $1::timestamptz AND ${column} < ${until}`;

const buildRemoval = ({ table, column = 'expires_at', until = 'now()', unless }: ExpiringTable): string => `
  DELETE FROM ${table}
  WHERE ${column} >= $1::timestamptz AND ${column} < least(${until}, $2::timestamptz) AND ${unless?.mayGo ?? 'true'}`;

/**
 * Removes expired rows on Citus, which cannot lock the oldest rows of all nodes. A batch is what expired
 * within `size` milliseconds.
 */
@Injectable()
export class TimeSlices extends ExpiredRows {
  readonly size = 30_000;
  readonly largest = 24 * 60 * 60_000;

  constructor(private readonly dataSource: DataSource) {
    super();
  }

  removeBatch(table: ExpiringTable, size: number, from: string): Promise<Batch> {
    return this.dataSource.transaction(async (manager) => {
      const [lock] = await manager.query<{ is_ours: boolean }[]>(
        'SELECT pg_try_advisory_xact_lock($1, hashtext($2)) AS is_ours',
        [REMOVAL_LOCK, table.table],
      );
      const [span] = await manager.query<{ from: string | null; to: string }[]>(buildSpan(table), [
        from,
        size / 1000,
      ]);
      if (!lock!.is_ours || span!.from === null) return { removed: 0, next: null };
      const [, removed] = await manager.query<[unknown, number]>(buildRemoval(table), [span!.from, span!.to]);
      return { removed, next: span!.to };
    });
  }
}

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

// Raw: the query builder's count has no limit.
const COUNT_LIVE = {
  name: 'session-count-live',
  text: `
    SELECT count(*)::int AS count FROM (
      SELECT FROM refresh_tokens WHERE user_id = $1 AND ${LIVING} ORDER BY device_id, expires_at LIMIT $2
    ) AS counted`,
};

/** One node has all sessions of a user, so each user is counted there. */
@Injectable()
export class CitusSessionStore extends SessionStore {
  override async countLive(userIds: readonly string[], most = MOST_SESSIONS): Promise<Map<string, number>> {
    const counts = userIds.map(async (userId) => {
      const [row] = await this.sql.query<{ count: number }>(COUNT_LIVE, [userId, most]);
      return [userId, row!.count] as const;
    });
    return new Map(await Promise.all(counts));
  }
}

/** Each count is exact, since the planner estimates no rows of a distributed table. */
@Injectable()
class CitusTotals extends Totals {
  protected override count(counted: Counted): Promise<number> {
    return this.countExactly(counted);
  }
}

/** Citus locks rows of one node at a time only. */
@Injectable()
class CitusUserChanges extends UserChanges {
  protected override readonly mostLocked = 1;
}

export const REPLACEMENTS: Replacements = new Map<unknown, Type>([
  [AuditStore, CitusAuditStore],
  [AuditWalks, CitusAuditWalks],
  [ChannelHistory, CitusChannelHistory],
  [ExpiredRows, TimeSlices],
  [PushWriter, CitusPushWriter],
  [RefreshStore, CitusRefreshStore],
  [SessionStore, CitusSessionStore],
  [SignInStore, CitusSignInStore],
  [Totals, CitusTotals],
  [UserChanges, CitusUserChanges],
]);
