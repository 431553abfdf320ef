import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { hashRefreshToken, makeRefreshToken } from '../../../src/token/refresh/refresh-token.js';
import { userIdOf } from '../../../src/user/user-id.js';
import type { KnownSessions } from '../load/generator.js';
import { codeOf, deviceIdOf, PROVIDER } from '../sign-in-users.js';
import { withoutIndexes } from './indexes.js';

const KNOWN = 16_384;
/** One session in so many has an access token that has not expired. */
const SESSIONS_A_TOKEN = 10;

/** Bytes on the disk for each session, with all that belongs to it and what PostgreSQL logs of it: rather too many. */
export const BYTES_A_SESSION = 2000;

/**
 * Fills the service's empty tables with so many sessions: each of a user of its own, who has a device and a channel.
 * @returns the sessions that the load generator knows
 */
export async function fillLarge(admin: Client, sessions: number): Promise<KnownSessions> {
  const refreshTokens = await makeKnown(admin, Math.min(KNOWN, sessions));
  await withoutIndexes(admin, ['refresh_tokens', 'users', 'devices', 'channels', 'access_tokens'], () =>
    insertAll(admin, sessions, refreshTokens.length),
  );
  await admin.query('DROP TABLE known');
  await admin.query('VACUUM (ANALYZE)');
  await admin.query('CHECKPOINT');
  return { refreshTokens, boundSessions: [], signInUsers: refreshTokens.length };
}

async function makeKnown(admin: Client, count: number): Promise<string[]> {
  const sessions = Array.from({ length: count }, (_, n) => ({
    userId: userIdOf(PROVIDER, codeOf(n)),
    sessionId: randomUUID(),
    deviceId: deviceIdOf(n),
  }));
  const tokens = sessions.map((session) => makeRefreshToken(session));
  await admin.query(
    'CREATE TABLE known (n bigint, user_id uuid, session_id uuid, device_id uuid, code text, token_hash bytea)',
  );
  await admin.query(
    `INSERT INTO known SELECT place - 1, user_id, session_id, device_id, code, token_hash
     FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::bytea[])
       WITH ORDINALITY AS k (user_id, session_id, device_id, code, token_hash, place)`,
    [
      sessions.map(({ userId }) => userId),
      sessions.map(({ sessionId }) => sessionId),
      sessions.map(({ deviceId }) => deviceId),
      sessions.map((_, n) => codeOf(n)),
      tokens.map((token) => hashRefreshToken(token)),
    ],
  );
  await admin.query('ANALYZE known');
  return tokens;
}

async function insertAll(admin: Client, sessions: number, known: number): Promise<void> {
  await admin.query(
    `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at)
     SELECT coalesce(k.user_id, id), coalesce(k.session_id, id), coalesce(k.device_id, id),
       coalesce(k.token_hash, sha256(uuid_send(id))), now() + interval '30 days'
     FROM (SELECT i, gen_random_uuid() AS id FROM generate_series(0, $1::bigint - 1) AS i) AS s
     LEFT JOIN known k ON i % $2::bigint = 0 AND k.n = i / $2::bigint`,
    [sessions, Math.floor(sessions / known)],
  );
  await admin.query(
    `INSERT INTO users (user_id, provider, provider_user_id, username, email)
     SELECT r.user_id, $1, name, name, name || '@example.org'
     FROM (SELECT r.user_id, coalesce(k.code, r.user_id::text) AS name FROM refresh_tokens r LEFT JOIN known k USING (user_id)) AS r`,
    [PROVIDER],
  );
  await admin.query('INSERT INTO devices (user_id, device_id) SELECT user_id, device_id FROM refresh_tokens');
  await admin.query('INSERT INTO channels (user_id, last_offset) SELECT user_id, 1 FROM refresh_tokens');
  // As long as a real one; a day, so that none expires during the run.
  await admin.query(
    `INSERT INTO access_tokens (user_id, jti, session_id, expires_at, token)
     SELECT user_id, gen_random_uuid(), session_id, now() + interval '1 day', repeat(md5(user_id::text), 15)
     FROM refresh_tokens LIMIT $1`,
    [Math.ceil(sessions / SESSIONS_A_TOKEN)],
  );
}
