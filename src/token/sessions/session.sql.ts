import { lastUse } from '../../database/last-use.js';
import { errorCode } from '../../errors/error-facts.js';
import type { Retention } from '../../database/expires.js';

const UNIQUE_VIOLATION = '23505';

const SESSION =
  'user_id, session_id, device_id, token_hash, expires_at, jkt, provider_subject, provider_session, id_token, auth_time, address, user_agent';

/** Inserts a session; the parameters are its columns, `$5` is the lifetime in seconds, `$10` is in seconds since the epoch. */
export const INSERT_REFRESH_TOKEN = `
      INSERT INTO refresh_tokens (${SESSION})
      VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5), $6, $7, $8, $9, to_timestamp($10), $11, $12)`;

/** Inserts a token; the parameters are its columns, `$4` is its expiry, in seconds since the epoch. */
export const INSERT_ACCESS_TOKEN = `
      INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token)
      VALUES ($1, $2, $3, to_timestamp($4), $5)`;

/**
 * Inserts several sessions.
 * @param from a member of the same `WITH` with the columns of the table, but `ttl` (seconds) in place of `expires_at`; `auth_time` in
 *   seconds since the epoch
 */
export function insertRefreshTokens(from: string): string {
  return `
      INSERT INTO refresh_tokens (${SESSION})
      SELECT user_id, session_id, device_id, token_hash, now() + make_interval(secs => ttl),
        jkt, provider_subject, provider_session, id_token, to_timestamp(auth_time), address, user_agent
      FROM ${from}`;
}

/**
 * Inserts several tokens, ordered by key as refreshes do, so that two statements with equal proofs do not deadlock.
 * @param from member of the same `WITH` with the columns of the table; `expires_at` in seconds since the epoch
 * @param after member that is executed before
 */
export function insertAccessTokens(from: string, after: string): string {
  return `
      INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token)
      SELECT user_id, session_id, jti, to_timestamp(expires_at), token
      FROM ${from}, (SELECT count(*) FROM ${after}) AS done
      ORDER BY user_id, jti`;
}

/**
 * Whether a transaction failed because an access token with this `jti` is stored: its proof was used. On Citus the constraint's
 * name ends with the number of a shard.
 */
export function isProofUsed(error: unknown): boolean {
  if (errorCode(error) !== UNIQUE_VIOLATION) return false;
  const { constraint = '' } = error as { readonly constraint?: string };
  return constraint.startsWith('access_tokens_pkey');
}

/**
 * Condition on a row of `refresh_tokens`, and of the index `refresh_tokens_open`: the session is not signed out. The second half
 * is always true; it prevents the use of that index by statements that find one session by its id.
 */
export const OPEN = `signed_out_at IS NULL AND expires_at > '-infinity'`;

/** Condition: the session is live. With OPEN, since a session that ended during this transaction expires after its `now()`. */
export const LIVING = `${OPEN} AND expires_at > now()`;

// Order of the index, which PostgreSQL might not use otherwise.
const BY_OPEN = 'ORDER BY device_id, expires_at';

/** Selects the devices on which a user has a live session. For use in `IN`: a join may read all sessions for each device. */
export function selectLivingDevices(userId: string): string {
  return `
    SELECT device_id FROM refresh_tokens
    WHERE user_id = ${userId} AND device_id IS NOT NULL AND ${LIVING} ${BY_OPEN}`;
}

/** Live sessions that a user may have (docs/security.md#database). */
const MOST_SESSIONS = 10_000;

/** Condition, made from an SQL expression: the user has MOST_SESSIONS live sessions. */
export function hasMostSessions(userId: string): string {
  return `EXISTS (
    SELECT FROM refresh_tokens WHERE user_id = ${userId} AND ${LIVING}
    ${BY_OPEN} OFFSET ${MOST_SESSIONS - 1} LIMIT 1)`;
}

/** Number of live sessions of a user, as an SQL expression. @param most limit of the count */
export function countLiving(userId: string, most = MOST_SESSIONS): string {
  return `(SELECT count(*)::int FROM (
      SELECT FROM refresh_tokens WHERE user_id = ${userId} AND ${LIVING} ${BY_OPEN} LIMIT ${most}
    ) AS living)`;
}

/** Ended sessions of a user that are read at most. */
const READ_ENDED = 20_000;

/** Selects the ended sessions of a user: `device_id`, `ended_at`. */
export function selectEndedSessions(userId: string): string {
  return `
    SELECT device_id, expires_at AS ended_at FROM refresh_tokens
    WHERE user_id = ${userId} AND expires_at <= now() LIMIT ${READ_ENDED}`;
}

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

/** Access tokens of one user that a batch reads. A user with more keeps the ended sessions until tokens have expired. */
const MOST_ACCESS_TOKENS = 50_000;

/**
 * Expired sessions that stay. The key of `access_tokens` finds tokens by user, not by session, and another index would slow each
 * refresh. So a batch reads the tokens of each user once.
 */
export const KEPT_SESSIONS: Retention = {
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
