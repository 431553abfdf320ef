const COLUMNS = 'user_id, provider, provider_user_id, username, email, avatar_url';

// A field that the provider leaves out is cleared (contract §6). Unchanged users are not written again.
const REPLACE = `ON CONFLICT (user_id) DO UPDATE
        SET username = excluded.username, email = excluded.email, avatar_url = excluded.avatar_url
        WHERE (users.username, users.email, users.avatar_url)
          IS DISTINCT FROM (excluded.username, excluded.email, excluded.avatar_url)`;

/** Upserts a user; the parameters are the columns. Citus sends it to one node. */
export const UPSERT_USER = `
      INSERT INTO users (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)
      ${REPLACE}`;

/**
 * Upserts several users in the order of their ids, against deadlocks.
 * @param from member of the `WITH` with the columns of the table, and no user twice
 */
export function upsertUsers(from: string): string {
  return `
      INSERT INTO users (${COLUMNS}) SELECT ${COLUMNS} FROM ${from} ORDER BY user_id
      ${REPLACE}`;
}

/** Selects the `user_id` if the user exists and the condition holds. */
export function selectUser(userId: string, condition: string): string {
  return `SELECT user_id FROM users WHERE user_id = ${userId} AND ${condition}`;
}

/**
 * Selects the user, and blocks a removal until the transaction ends. During a removal the statement waits, and then selects nothing.
 * These locks wait neither for each other nor for sign-ins.
 */
export function holdUser(userId: string, condition: string): string {
  return `${selectUser(userId, condition)} FOR KEY SHARE`;
}
