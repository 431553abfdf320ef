import { errorCode } from '../../database/statements/error-facts.js';
import type { Retention } from '../../database/expires.js';

const UNIQUE_VIOLATION = '23505';

const SESSION =
  'user_id, session_id, device_id, token_hash, expires_at, jkt, provider_subject, provider_session';

/** Inserts the session whose columns are the parameters; `$5` is the lifetime in seconds. */
export const INSERT_REFRESH_TOKEN = `
      INSERT INTO refresh_tokens (${SESSION})
      VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5), $6, $7, $8)`;

/** Inserts the token whose columns are the parameters; `$4` is its expiry, in seconds since the epoch. */
export const INSERT_ACCESS_TOKEN = `
      INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token)
      VALUES ($1, $2, $3, to_timestamp($4), $5)`;

/**
 * Inserts several sessions.
 * @param from a member of the same `WITH` with the columns of the table, but `ttl` (seconds) in place of `expires_at`
 */
export function insertRefreshTokens(from: string): string {
  return `
      INSERT INTO refresh_tokens (${SESSION})
      SELECT user_id, session_id, device_id, token_hash, now() + make_interval(secs => ttl),
        jkt, provider_subject, provider_session
      FROM ${from}`;
}

/**
 * Inserts several tokens, in the order of their keys, as refreshes store them: two statements with the same proofs would
 * else wait for each other.
 *
 * @param from a member of the same `WITH` with the columns of the table; `expires_at` in seconds since the epoch
 * @param after a member that is done first, whatever it returns
 */
export function insertAccessTokens(from: string, after: string): string {
  return `
      INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token)
      SELECT user_id, session_id, jti, to_timestamp(expires_at), token
      FROM ${from}, (SELECT count(*) FROM ${after}) AS done
      ORDER BY user_id, jti`;
}

/**
 * Whether a transaction has failed because an access token is stored with the same `jti`: the proof that it was to be issued for
 * has been used. On Citus the name ends with the number of a shard.
 */
export function isProofUsed(error: unknown): boolean {
  if (errorCode(error) !== UNIQUE_VIOLATION) return false;
  const { constraint = '' } = error as { readonly constraint?: string };
  return constraint.startsWith('access_tokens_pkey');
}

/**
 * A condition on a row of `refresh_tokens`: the session is not signed out. It is that of the index `refresh_tokens_open`. Its
 * second half always holds, and keeps statements that find a session by its id from that index: PostgreSQL, which does not know
 * that a user has many, would read all of them.
 */
export const OPEN = `signed_out_at IS NULL AND expires_at > '-infinity'`;

/** Looks at OPEN as well: `now()` is when this transaction began, and a session that was ended since then expires after it. */
const LIVING = `${OPEN} AND expires_at > now()`;

// Asked for in the order of the index: by their cost alone, PostgreSQL may as well read all rows of the user.
const BY_OPEN = 'ORDER BY device_id, expires_at';

/**
 * The devices on which a user has a living session. For `IN`, which reads the sessions once, however few devices PostgreSQL
 * expects: a join may read all sessions for each device.
 */
export function selectLivingDevices(userId: string): string {
  return `
    SELECT device_id FROM refresh_tokens
    WHERE user_id = ${userId} AND device_id IS NOT NULL AND ${LIVING} ${BY_OPEN}`;
}

/** Living sessions that a user may have (contract §4, POST /oauth2/token). */
const MOST_SESSIONS = 10_000;

/** A condition, made from an SQL expression: the user has MOST_SESSIONS. For a user with few it reads an index entry each. */
export function hasMostSessions(userId: string): string {
  return `EXISTS (
    SELECT FROM refresh_tokens WHERE user_id = ${userId} AND ${LIVING}
    ${BY_OPEN} OFFSET ${MOST_SESSIONS - 1} LIMIT 1)`;
}

/** Of more ended sessions some are not read: a user can end any number before their rows are removed. */
const READ_ENDED = 20_000;

/** The sessions of a user that have ended: `device_id`, `ended_at`. */
export function selectEndedSessions(userId: string): string {
  return `
    SELECT device_id, expires_at AS ended_at FROM refresh_tokens
    WHERE user_id = ${userId} AND expires_at <= now() LIMIT ${READ_ENDED}`;
}

/**
 * Every instance must have read that a session was signed out (contract §4), also one that was away for a while; and other
 * services, which do not ask whether a token is stored, are told as long as one may be alive (§8). Those that are stored are
 * looked at below, but a dump may leave them out (docs/production.md). With a minute more, for clocks that are off.
 */
const SIGNED_OUT_LONG_AGO = `(signed_out_at IS NULL OR signed_out_at < now() - greatest(interval '10 minutes',
      make_interval(secs => 60 + (SELECT coalesce(max(token_ttl), 0) FROM signing_keys WHERE revoked_at IS NULL))))`;

/** When a refresh token expires by itself, its last access token lives on, and verifying that one reads the session. */
const LEFT_NO_ACCESS_TOKEN = `NOT EXISTS (
      SELECT FROM access_tokens a WHERE a.user_id = refresh_tokens.user_id AND a.session_id = refresh_tokens.session_id)`;

/** A refresh that began before the expiry may still be storing an access token. */
const NO_REFRESH_UNDER_WAY = `expires_at < now() - interval '5 seconds'`;

const IS_DUE = `${NO_REFRESH_UNDER_WAY} AND ${SIGNED_OUT_LONG_AGO}`;

/** Condition on a row of `refresh_tokens` that has expired: it may be removed. */
export const NEEDED_NO_MORE = `${IS_DUE} AND ${LEFT_NO_ACCESS_TOKEN}`;

/** Access tokens of one user that a batch reads. A user with more keeps the ended sessions until some tokens have expired. */
const MOST_ACCESS_TOKENS = 50_000;

/**
 * Which expired sessions stay. The key of `access_tokens` finds the tokens of a user, not of a session, and one more index would
 * slow each refresh. So a batch reads the tokens of each user once, however many sessions of that user it holds.
 */
export const KEPT_SESSIONS: Retention = {
  mayGo: NEEDED_NO_MORE,
  isDue: IS_DUE,
  keptOf: (batch) => `
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
