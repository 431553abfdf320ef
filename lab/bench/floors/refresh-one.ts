import type { Pool } from 'pg';
import { EXPIRES_IN, issueAccessToken, type AccessToken } from './access-token.js';
import type { Handler } from './server.js';
import { sessionOf, sha256 } from './session.js';

const STORE = {
  name: 'store-one',
  text: `
    INSERT INTO floor.access_tokens (user_id, session_id, jti, expires_at, token)
    SELECT user_id, session_id, $2::uuid, to_timestamp($3), $4::text
    FROM floor.refresh_tokens WHERE token_hash = $1 AND expires_at > now()`,
};

export function refreshInOne(pool: Pool): Handler {
  return async ({ refresh_token }) => {
    const accessToken = issueAccessToken(sessionOf(refresh_token!));
    const stored = await storeOne(pool, sha256(refresh_token!), accessToken);
    if (!stored) throw new Error('unknown refresh token');
    return { access_token: accessToken.token, expires_in: EXPIRES_IN };
  };
}

/** Stores an access token if its refresh token is valid. @returns whether it was stored */
export async function storeOne(pool: Pool, tokenHash: Buffer, accessToken: AccessToken): Promise<boolean> {
  const { token, jti, expiresAt } = accessToken;
  const { rowCount } = await pool.query({ ...STORE, values: [tokenHash, jti, expiresAt, token] });
  return rowCount === 1;
}
