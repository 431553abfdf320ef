import { randomUUID } from 'node:crypto';
import { deriveUserId } from '../../src/identity/user-id.js';
import { ProviderTokens } from '../../src/features/recheck/provider-tokens.js';
import { query } from '../support/database.js';
import type { TestService } from '../support/service.js';
import type { RefreshingProvider } from './refreshing-provider.js';

/**
 * Inserts users with a session in use whom the provider `corp` is to be asked about, the first one first.
 * @param prefix of their logins, which a number follows
 * @param before statements that come before the users are due
 */
export async function insertDue(
  { databaseUrl, settings }: Pick<TestService, 'databaseUrl' | 'settings'>,
  provider: RefreshingProvider,
  prefix: string,
  count: number,
  before: readonly string[] = [],
): Promise<void> {
  const tokens = new ProviderTokens(settings);
  const logins = Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
  const rows = logins.map((login) => {
    const [userId, token] = [deriveUserId('corp', login), randomUUID()];
    provider.tokens.set(token, login);
    return { userId, login, sealed: tokens.encrypt(token, userId) };
  });
  const ids = rows.map(({ userId }) => userId);
  const insert = (text: string, ...more: unknown[][]): Promise<unknown> =>
    query(databaseUrl, text, [ids, ...more]);
  await insert(
    `INSERT INTO users (user_id, provider, provider_user_id)
     SELECT id, 'corp', login FROM unnest($1::uuid[], $2::text[]) AS u (id, login)`,
    logins,
  );
  await insert(`
    INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at)
    SELECT id, id, 'x', now() + interval '1 day' FROM unnest($1::uuid[]) AS u (id)`);
  await insert(`
    INSERT INTO access_tokens (user_id, jti, session_id, expires_at, token)
    SELECT id, id, id, now() + interval '1 hour', 'x' FROM unnest($1::uuid[]) AS u (id)`);
  for (const text of before) await query(databaseUrl, text, []);
  await insert(
    `INSERT INTO provider_checks (user_id, provider, refresh_token, due_at, checked_at, expires_at)
     SELECT id, 'corp', token, now() - interval '1 hour' + nth * interval '1 ms', now() - interval '1 day',
       now() + interval '1 day'
     FROM unnest($1::uuid[], $2::bytea[]) WITH ORDINALITY AS u (id, token, nth)`,
    rows.map(({ sealed }) => sealed),
  );
}
