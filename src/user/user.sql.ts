/** A user as the provider describes them, as SQL expressions. */
interface SignedInUser {
  readonly userId: string;
  readonly provider: string;
  readonly providerUserId: string;
  readonly username: string;
  readonly email: string;
  readonly avatarUrl: string;
}

/**
 * Inserts the user. The provider's word replaces what was stored: a field it left out is cleared (contract §6).
 * Unchanged users are not written again.
 */
export function upsertUser(user: SignedInUser): string {
  const { userId, provider, providerUserId, username, email, avatarUrl } = user;
  return `
      INSERT INTO users (${COLUMNS})
      VALUES (${userId}, ${provider}, ${providerUserId}, ${username}, ${email}, ${avatarUrl})
      ${REPLACE}`;
}

/**
 * Upserts several users in the order of their ids, against deadlocks.
 * @param from member of the `WITH` with the columns of the table, and no user twice
 */
export function upsertUsers(from: string): string {
  return `
      INSERT INTO users (${COLUMNS}) SELECT ${COLUMNS} FROM ${from} ORDER BY user_id
      ${REPLACE}`;
}

const COLUMNS = 'user_id, provider, provider_user_id, username, email, avatar_url';
const REPLACE = `ON CONFLICT (user_id) DO UPDATE
        SET username = excluded.username, email = excluded.email, avatar_url = excluded.avatar_url
        WHERE (users.username, users.email, users.avatar_url)
          IS DISTINCT FROM (excluded.username, excluded.email, excluded.avatar_url)`;

/** Selects the `user_id` if the user exists and the condition holds. */
export function selectUser(userId: string, condition: string): string {
  return `SELECT user_id FROM users WHERE user_id = ${userId} AND ${condition}`;
}

/**
 * Selects the user, and blocks a removal until the transaction ends. During a removal the statement waits,
 * and then selects nothing. These locks wait neither for each other nor for sign-ins.
 */
export function holdUser(userId: string, condition: string): string {
  return `${selectUser(userId, condition)} FOR KEY SHARE`;
}
