import type { Pool } from 'pg';
import { EXPIRES_IN, issueAccessToken } from './access-token.js';
import type { Handler } from './server.js';
import { sha256, type Session } from './session.js';

const FIND = {
  name: 'find',
  text: `
    SELECT user_id AS "userId", session_id AS "sessionId", device_id AS "deviceId"
    FROM floor.refresh_tokens WHERE token_hash = $1 AND expires_at > now()`,
};

const STORE = {
  name: 'store',
  text: `
    INSERT INTO floor.access_tokens (user_id, session_id, jti, expires_at, token)
    VALUES ($1, $2, $3, to_timestamp($4), $5)`,
};

/** Two statements: find the session, sign, store the access token. */
export function refreshInTwo(pool: Pool): Handler {
  return async ({ refresh_token }) => {
    const { rows } = await pool.query<Session>({ ...FIND, values: [sha256(refresh_token!)] });
    const session = rows[0];
    if (!session) throw new Error('unknown refresh token');
    const { token, jti, expiresAt } = issueAccessToken(session);
    await pool.query({ ...STORE, values: [session.userId, session.sessionId, jti, expiresAt, token] });
    return { access_token: token, expires_in: EXPIRES_IN };
  };
}
