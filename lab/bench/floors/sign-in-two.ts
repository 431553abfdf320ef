import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { EXPIRES_IN, issueAccessToken } from './access-token.js';
import { consumeState } from './authorize.js';
import { exchange } from './exchange.js';
import type { Handler } from './server.js';
import { makeRefreshToken, sha256 } from './session.js';

const SAVE_USER = {
  name: 'save-user',
  text: `
    INSERT INTO floor.users (provider, provider_user_id, username, email, avatar_url)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (provider, provider_user_id) DO UPDATE
      SET username = excluded.username, email = excluded.email, avatar_url = excluded.avatar_url
    RETURNING user_id AS "userId"`,
};

const SAVE_SESSION = {
  name: 'save-session',
  text: `
    WITH device AS (
      INSERT INTO floor.devices (user_id, device_id, device_name, user_agent) VALUES ($1, $2, $3, $4)
      ON CONFLICT (user_id, device_id) DO UPDATE
        SET device_name = excluded.device_name, user_agent = excluded.user_agent, last_seen_at = now()
    ), refresh_token AS (
      INSERT INTO floor.refresh_tokens (user_id, session_id, device_id, token_hash, expires_at)
      VALUES ($1, $5, $2, $6, now() + interval '30 days')
    )
    INSERT INTO floor.access_tokens (user_id, session_id, jti, expires_at, token)
    VALUES ($1, $5, $7, to_timestamp($8), $9)`,
};

export function signInInTwo(pool: Pool, providerUrl: string): Handler {
  return async ({ code, state, device_id, device_name, user_agent }) => {
    const { provider, redirectUri } = await consumeState(pool, state!);
    const identity = await exchange(providerUrl, code!, redirectUri);
    const { rows } = await pool.query<{ userId: string }>({
      ...SAVE_USER,
      values: [provider, identity.provider_user_id, identity.username, identity.email, identity.avatar_url],
    });
    const session = { userId: rows[0]!.userId, sessionId: randomUUID(), deviceId: device_id! };
    const { token, jti, expiresAt } = issueAccessToken(session);
    const refreshToken = makeRefreshToken(session);
    await pool.query({
      ...SAVE_SESSION,
      values: [
        session.userId,
        device_id,
        device_name,
        user_agent,
        session.sessionId,
        sha256(refreshToken),
        jti,
        expiresAt,
        token,
      ],
    });
    return {
      access_token: token,
      refresh_token: refreshToken,
      expires_in: EXPIRES_IN,
      user_id: session.userId,
    };
  };
}
