import { lastUse } from '../database/last-use.js';

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

/** See LastSeen. */
export const USER_USE = lastUse('users', 'last_seen_at', ['user_id']);
