import { lastUse } from '../../platform/database/last-use.js';
import type { Retention } from '../../platform/database/expires.js';

/**
 * Condition on a row of `refresh_tokens`, and of the index `refresh_tokens_open`: the session is not signed
 * out. The second half is always true; it prevents the use of that index by statements that find one session
 * by its id.
 */
export const OPEN = `signed_out_at IS NULL AND expires_at > '-infinity'`;

/**
 * Condition: the session is live. With OPEN, since a session that ended during this transaction expires after
 * its `now()`.
 */
export const LIVING = `${OPEN} AND expires_at > now() AND (idle_ends_at IS NULL OR idle_ends_at > now())`;

/** Live sessions that a user may have (docs/security.md#database). */
export const MOST_SESSIONS = 10_000;

/**
 * A signed-out session is kept until every instance has read it, and until its last token has expired, for
 * the feed: by the lifetimes of the keys, since a dump may lack the tokens
 * (docs/maintenance.md#backup-and-restore), and a minute for clocks.
 */
const SIGNED_OUT_LONG_AGO = `(signed_out_at IS NULL OR signed_out_at < now() - greatest(interval '10 minutes',
      make_interval(secs => 60 + (SELECT coalesce(max(token_ttl), 0) FROM signing_keys WHERE revoked_at IS NULL))))`;

/** The last access token may outlive the refresh token, and its verification reads the session. */
const LEFT_NO_ACCESS_TOKEN = `NOT EXISTS (
      SELECT FROM access_tokens a WHERE a.user_id = refresh_tokens.user_id AND a.session_id = refresh_tokens.session_id)`;

/** A refresh that began before the expiry may store an access token after it. */
const NO_REFRESH_UNDER_WAY = `expires_at < now() - interval '5 seconds'`;

const IS_DUE = `${NO_REFRESH_UNDER_WAY} AND ${SIGNED_OUT_LONG_AGO}`;

/** Condition on an expired row of `refresh_tokens`: it may be removed. */
const NEEDED_NO_MORE = `${IS_DUE} AND ${LEFT_NO_ACCESS_TOKEN}`;

/**
 * Access tokens of one user that a batch reads. A user with more keeps the ended sessions until tokens have
 * expired.
 */
const MOST_ACCESS_TOKENS = 50_000;

/**
 * Expired sessions that stay. The key of `access_tokens` finds tokens by user, not by session, and another
 * index would slow each refresh. So a batch reads the tokens of each user once.
 */
export const RETAINED_SESSIONS: Retention = {
  mayGo: NEEDED_NO_MORE,
  isDue: IS_DUE,
  selectRetained: (batch) => `
      WITH tokens AS MATERIALIZED (
        SELECT t.user_id, t.session_id FROM (SELECT DISTINCT user_id FROM ${batch}) AS u
        CROSS JOIN LATERAL (
          SELECT user_id, session_id FROM access_tokens WHERE user_id = u.user_id LIMIT ${MOST_ACCESS_TOKENS}
        ) AS t
      )
      SELECT user_id, session_id FROM tokens
      UNION ALL
      SELECT user_id, session_id FROM ${batch} WHERE user_id IN (
        SELECT user_id FROM tokens GROUP BY user_id HAVING count(*) = ${MOST_ACCESS_TOKENS})`,
};

/** See LastSeen. */
export const SESSION_USE = lastUse('refresh_tokens', 'last_used_at', ['user_id', 'session_id']);
