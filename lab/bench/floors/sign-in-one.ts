import { createHash, randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { EXPIRES_IN, issueAccessToken } from './access-token.js';
import { consumeState } from './authorize.js';
import { exchange } from './exchange.js';
import type { Handler } from './server.js';
import { makeRefreshToken, sha256, uuidAt } from './session.js';

const SAVE = {
  name: 'sign-in',
  text: `
    WITH signed_in_user AS (
      INSERT INTO floor.users (user_id, provider, provider_user_id, username, email, avatar_url)
      VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (user_id) DO UPDATE
        SET username = excluded.username, email = excluded.email, avatar_url = excluded.avatar_url
        WHERE (users.username, users.email, users.avatar_url)
          IS DISTINCT FROM (excluded.username, excluded.email, excluded.avatar_url)
    ), device AS (
      INSERT INTO floor.devices (user_id, device_id, device_name, user_agent) VALUES ($1, $7, $8, $9)
      ON CONFLICT (user_id, device_id) DO UPDATE
        SET device_name = excluded.device_name, user_agent = excluded.user_agent, last_seen_at = now()
    ), refresh_token AS (
      INSERT INTO floor.refresh_tokens (user_id, session_id, device_id, token_hash, expires_at)
      VALUES ($1, $10, $7, $11, now() + interval '30 days')
    )
    INSERT INTO floor.access_tokens (user_id, session_id, jti, expires_at, token)
    VALUES ($1, $10, $12, to_timestamp($13), $14)`,
};

/** POST /oauth2/token in one statement: the user id follows from the identity, so nothing has to be asked first. */
export function signInInOne(pool: Pool, providerUrl: string): Handler {
  return async ({ code, state, device_id, device_name, user_agent }) => {
    const { provider, redirectUri } = await consumeState(pool, state!);
    const identity = await exchange(providerUrl, code!, redirectUri);
    const userId = userIdOf(provider, identity.provider_user_id);
    const session = { userId, sessionId: randomUUID(), deviceId: device_id! };
    const { token, jti, expiresAt } = issueAccessToken(session);
    const refreshToken = makeRefreshToken(session);
    await pool.query({
      ...SAVE,
      values: [
        userId,
        provider,
        identity.provider_user_id,
        identity.username,
        identity.email,
        identity.avatar_url,
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
    return { access_token: token, refresh_token: refreshToken, expires_in: EXPIRES_IN, user_id: userId };
  };
}

/** As the service derives it: SHA-256 of both, as a UUID of version 8. */
function userIdOf(provider: string, providerUserId: string): string {
  const bytes = createHash('sha256').update(`${provider}\0${providerUserId}`).digest();
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return uuidAt(bytes.toString('hex', 0, 16), 0);
}
