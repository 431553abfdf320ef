import { Injectable } from '@nestjs/common';
import { LIVING, MOST_SESSIONS } from './session.sql.js';
import { SessionStore } from './session.store.js';

// Raw: the query builder's count has no limit.
const COUNT_LIVE = {
  name: 'session-count-live',
  text: `
    SELECT count(*)::int AS count FROM (
      SELECT FROM refresh_tokens WHERE user_id = $1 AND ${LIVING} ORDER BY device_id, expires_at LIMIT $2
    ) AS counted`,
};

/** Sessions on Citus: one node has all sessions of a user, so each user is counted there. */
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
