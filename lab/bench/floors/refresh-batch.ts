import type { Pool } from 'pg';
import { EXPIRES_IN, issueAccessToken, type AccessToken } from './access-token.js';
import { inBatches } from './batches.js';
import { storeOne } from './refresh-one.js';
import type { Handler } from './server.js';
import { sessionOf, sha256 } from './session.js';

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

/** Like `refreshInOne`, but requests that arrive together share a statement. */
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
  const [first] = refreshes;
  if (refreshes.length === 1) return [await storeOne(pool, first!.tokenHash, first!.accessToken)];
  const values = [
    refreshes.map(({ tokenHash }) => tokenHash),
    refreshes.map(({ accessToken }) => accessToken.jti),
    refreshes.map(({ accessToken }) => accessToken.expiresAt),
    refreshes.map(({ accessToken }) => accessToken.token),
  ];
  const { rows } = await pool.query<{ jti: string }>({ ...STORE, values });
  const stored = new Set(rows.map(({ jti }) => jti));
  return refreshes.map(({ accessToken }) => stored.has(accessToken.jti));
}
