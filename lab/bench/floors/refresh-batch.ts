import type { Pool } from 'pg';
import { EXPIRES_IN, issueAccessToken, type AccessToken } from './access-token.js';
import { inBatches } from './batches.js';
import type { Handler } from './server.js';
import { sessionOf, sha256 } from './session.js';

const STORE_ONE = {
  name: 'store-one',
  text: `
    INSERT INTO floor.access_tokens (user_id, session_id, jti, expires_at, token)
    SELECT user_id, session_id, $2::uuid, to_timestamp($3), $4::text
    FROM floor.refresh_tokens WHERE token_hash = $1 AND expires_at > now()`,
};

const STORE = {
  name: 'store-many',
  text: `
    INSERT INTO floor.access_tokens (user_id, session_id, jti, expires_at, token)
    SELECT r.user_id, r.session_id, n.jti, to_timestamp(n.expires_at), n.token
    FROM unnest($1::bytea[], $2::uuid[], $3::float8[], $4::text[]) AS n (token_hash, jti, expires_at, token)
    JOIN floor.refresh_tokens r USING (token_hash)
    WHERE r.expires_at > now()
    RETURNING jti`,
};

interface Refresh {
  readonly tokenHash: Buffer;
  readonly accessToken: AccessToken;
}

/** The token says its session, so it is signed first; requests that arrive together share a statement. */
export function refreshInBatches(pool: Pool): Handler {
  const store = inBatches((refreshes: readonly Refresh[]) => storeMany(pool, refreshes));
  return async ({ refresh_token }) => {
    const accessToken = issueAccessToken(sessionOf(refresh_token!));
    const stored = await store({ tokenHash: sha256(refresh_token!), accessToken });
    if (!stored) throw new Error('unknown refresh token');
    return { access_token: accessToken.token, expires_in: EXPIRES_IN };
  };
}

async function storeMany(pool: Pool, refreshes: readonly Refresh[]): Promise<boolean[]> {
  const hashes = refreshes.map(({ tokenHash }) => tokenHash);
  const tokens = refreshes.map(({ accessToken }) => accessToken);
  if (refreshes.length > 1) return areStored(pool, STORE, [hashes], tokens);
  const { token, jti, expiresAt } = tokens[0]!;
  const { rowCount } = await pool.query({ ...STORE_ONE, values: [hashes[0], jti, expiresAt, token] });
  return [rowCount === 1];
}

/** @param columns what comes before the columns of the access tokens */
export async function areStored(
  pool: Pool,
  statement: { readonly name: string; readonly text: string },
  columns: readonly unknown[],
  tokens: readonly AccessToken[],
): Promise<boolean[]> {
  const values = [
    ...columns,
    tokens.map(({ jti }) => jti),
    tokens.map(({ expiresAt }) => expiresAt),
    tokens.map(({ token }) => token),
  ];
  const { rows } = await pool.query<{ jti: string }>({ ...statement, values });
  const stored = new Set(rows.map(({ jti }) => jti));
  return tokens.map(({ jti }) => stored.has(jti));
}
