import { placeOf, timeAt } from '../database/page.js';
import { lastUse } from '../database/last-use.js';

/** A token issued so long after a change may have the former claims: it was stored before the change was committed. */
const COMMIT_TIME = '10 seconds';

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

/**
 * Selects changes of claims, and removals of users with changed claims (`voidedAt`), between the times `$1` and `$3`, oldest first; those
 * after the user `$2` at `$1`. Indexes have all of it. `key` is a text, since a Date would lose the microseconds.
 */
export function selectChanges(limit: number): string {
  const select = (table: string, at: string, voidedAt: string): string => `
    (SELECT user_id, ${at} AS at, ${voidedAt} AS "voidedAt" FROM ${table}
     WHERE (${at}, user_id) > ($1::timestamptz, $2::uuid) AND ${at} <= $3::timestamptz ORDER BY ${at}, user_id LIMIT ${limit})`;
  return `
    SELECT user_id AS "userId", at::text AS key, "voidedAt" FROM (
      ${select('users', 'claims_changed_at', 'NULL::timestamptz')} UNION ALL ${select('void_claims', 'voided_at', 'voided_at')}
    ) AS changes ORDER BY at, user_id LIMIT ${limit}`;
}

/** Selects the last change of each of the users `$1`, with the claims; `key` is null for a user who was removed, and is a new one. */
export const SELECT_CHANGED_CLAIMS = `
    SELECT user_id AS "userId", coalesce(claims, '{}') AS claims, claims_changed_at AS "changedAt", claims_changed_at::text AS key
    FROM users WHERE user_id = ANY ($1::uuid[])`;

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
