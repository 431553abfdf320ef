import { Injectable, type Type } from '@nestjs/common';
import { AuditStore } from '../audit/audit.store.js';
import { AuditWalks } from '../audit/search/audit-walks.js';
import { SignInStore } from '../auth/sign-in/sign-in.store.js';
import { ChannelHistory } from '../channel/channel.history.js';
import type { Replacements } from '../platform/database/replaceable.js';
import { ExpiredRows } from '../operations/removal/expired-rows.js';
import { PushWriter } from '../realtime/push/push-writer.js';
import { RefreshStore } from '../token/refresh/refresh.store.js';
import { LIVING, MOST_SESSIONS } from '../token/sessions/session.sql.js';
import { SessionStore } from '../token/sessions/session.store.js';
import { Totals, type Counted } from '../token/sessions/totals.js';
import { UserChanges } from '../user/user-changes.store.js';
import { CitusAuditStore } from './audit.store.js';
import { CitusAuditWalks } from './audit-walks.js';
import { CitusChannelHistory } from './channel.history.js';
import { TimeSlices } from './expired-rows.js';
import { CitusPushWriter } from './push-writer.js';
import { CitusRefreshStore } from './refresh.store.js';
import { CitusSignInStore } from './sign-in.store.js';

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

/** Stores of the service, each with the one that replaces it on Citus. */
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
