import { placeOf, timeAt } from '../database/page.js';
import { lastUse } from '../database/last-use.js';

const COLUMNS = 'user_id, provider, provider_user_id, username, email, avatar_url, username_key, email_key';
/** Set for a new user only; ClaimsStore makes later changes, and announces them. */
const CLAIMS = 'provider_claims, claims, claims_version';

/** A token issued so long after a change may have the former claims: it was stored before the change was committed. */
const COMMIT_TIME = '10 seconds';

/** Locks a user who signs in; selects the `version` of the claims, and whether the user is suspended. */
export const HOLD_CLAIMS = `
      SELECT claims_version::float8 AS version, suspended_at IS NOT NULL AS suspended FROM users
      WHERE user_id = $1 FOR NO KEY UPDATE`;

/** Inserts a user unless they exist; the parameters are the columns, then the columns of the claims. */
export const INSERT_USER = `
      INSERT INTO users (${COLUMNS}, ${CLAIMS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
      ON CONFLICT DO NOTHING RETURNING user_id`;

/**
 * Replaces the profile of the user `$1`, if it differs, by `$2` (name), `$3` (e-mail), `$4` (picture), `$5` and `$6` (keys of the search).
 * A field that the provider leaves out is cleared.
 */
export const UPDATE_USER = `
      UPDATE users SET username = $2, email = $3, avatar_url = $4, username_key = $5, email_key = $6
      WHERE user_id = $1 AND (username, email, avatar_url) IS DISTINCT FROM ($2, $3, $4)`;

/**
 * Upserts several users in the order of their ids, against deadlocks; as four members of a `WITH`. The last one has the ids of those
 * users whose claims have the version `claims_version`, as the token says, and who are not suspended; nothing is written of the others.
 * All users are locked; `held_user` has their `suspended_at`.
 * A token with claims of the application makes no user: they belonged to a user who was removed.
 * @param from member of the `WITH` with the columns of the table, and no user twice
 * @param last name of the last member
 */
export function upsertUsers(from: string, last: string): string {
  return `
    held_user AS MATERIALIZED (
      SELECT user_id, claims_version, suspended_at FROM users WHERE user_id IN (SELECT user_id FROM ${from})
      ORDER BY user_id FOR NO KEY UPDATE
    ), new_user AS (
      INSERT INTO users (${COLUMNS}, ${CLAIMS}) SELECT ${COLUMNS}, ${CLAIMS} FROM ${from}
      WHERE user_id NOT IN (SELECT user_id FROM held_user) AND application_claims IS NULL ORDER BY user_id
      ON CONFLICT DO NOTHING RETURNING user_id
    ), ${last} AS MATERIALIZED (
      SELECT user_id FROM new_user
      UNION ALL
      SELECT user_id FROM held_user JOIN ${from} USING (user_id, claims_version) WHERE suspended_at IS NULL
    ), known_user AS (
      UPDATE users SET username = s.username, email = s.email, avatar_url = s.avatar_url,
        username_key = s.username_key, email_key = s.email_key
      FROM ${from} AS s JOIN held_user USING (user_id, claims_version)
      WHERE users.user_id = s.user_id AND held_user.suspended_at IS NULL
        AND (users.username, users.email, users.avatar_url) IS DISTINCT FROM (s.username, s.email, s.avatar_url)
    )`;
}

/** Selects the `user_id` if the user exists and the condition holds. */
export function selectUser(userId: string, condition: string): string {
  return `SELECT user_id FROM users WHERE user_id = ${userId} AND removed_at IS NULL AND ${condition}`;
}

/**
 * Selects the user, and blocks a removal until the transaction ends. During a removal the statement waits, and then selects nothing.
 * These locks wait neither for each other nor for sign-ins.
 */
export function holdUser(userId: string, condition: string): string {
  return `${selectUser(userId, condition)} FOR KEY SHARE`;
}

/** Version of a user's claims, as an SQL expression; 0 without a user. The condition is that of a small index. */
export function claimsVersion(userId: string): string {
  return `coalesce((SELECT claims_version FROM users WHERE user_id = ${userId} AND claims_version <> 0), 0)`;
}

/** Claims of a user if they have changed since some seconds before a time, as an SQL expression; NULL if not, and without any. */
export function claimsSince(userId: string, time: string): string {
  return `(SELECT coalesce(claims, '{}') FROM users WHERE user_id = ${userId} AND claims_version <> 0
    AND claims_changed_at > to_timestamp(${time}) - interval '${COMMIT_TIME}')`;
}

/** Selects users as the support sees them; `claims` are the effective ones. @param more makes further columns from the user's id */
export function describeUsers(which: string, more: (userId: string) => string): string {
  return `
    SELECT user_id, provider, provider_user_id, username, email, avatar_url, coalesce(claims, '{}') AS claims, suspended_at,
      created_at, last_seen_at, ${more('users.user_id')}
    FROM users WHERE removed_at IS NULL AND ${which}`;
}

/**
 * Removes all of a suspended user but the id, so that sign-ins are still refused: their statement finds and locks the row, as that of any
 * suspended user. `infinity`: LastSeen writes no later use.
 */
export const REMOVE_SUSPENDED = `
    UPDATE users SET removed_at = now(), suspended_at = now(), created_at = now(), last_seen_at = 'infinity',
      provider = '', provider_user_id = '', username = NULL, email = NULL, avatar_url = NULL, username_key = NULL, email_key = NULL,
      provider_claims = NULL, application_claims = NULL, claims = NULL, claims_version = 0, claims_changed_at = NULL
    WHERE user_id = $1 AND suspended_at IS NOT NULL`;

/** Selects a page of removed users whose sign-ins are refused, latest first, and the row behind it; after the place `$1`, `$2`. */
export function selectRemoved(limit: number): string {
  return `
    SELECT user_id AS id, removed_at, ${placeOf('removed_at')} AS place FROM users
    WHERE removed_at IS NOT NULL AND ($1::bigint IS NULL OR (removed_at, user_id) < (${timeAt('$1')}, $2::uuid))
    ORDER BY removed_at DESC, user_id DESC LIMIT ${limit + 1}`;
}

/** Records for the revocation feed that the claims of the user `$1` are void; `$2`: when no token with them can be valid any more. */
export const VOID_CLAIMS = `
    INSERT INTO void_claims (user_id, voided_at, expires_at) VALUES ($1, clock_timestamp(), $2)
    ON CONFLICT (user_id) DO UPDATE SET voided_at = EXCLUDED.voided_at, expires_at = EXCLUDED.expires_at`;

/** See LastSeen. */
export const USER_USE = lastUse('users', 'last_seen_at', ['user_id']);
