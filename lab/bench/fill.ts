import { createHash, randomUUID, type JsonWebKey } from 'node:crypto';
import type { Client } from 'pg';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { MIGRATIONS } from '../../src/entities.js';
import { migrate } from '../../src/platform/database/start/migrate.js';
import {
  hashRefreshToken,
  makeRefreshToken,
  parseRefreshToken,
} from '../../src/token/refresh/refresh-token.js';
import { deriveUserId } from '../../src/identity/user-id.js';
import { makeKeyPair } from '../../src/token/keys/key-cipher.js';
import { FLOOR_SCHEMA } from './floors/schema.js';
import type { BoundSession } from './load/refresh-with-proof.script.js';
import { codeOf, deviceIdOf, identityOf, PROVIDER, SIGN_IN_USERS } from './names.js';

const KNOWN_TOKENS = 4096;
const BOUND_SESSIONS = 1024;

/** With which the load generator refreshes. */
export interface KnownSessions {
  readonly refreshTokens: readonly string[];
  readonly boundSessions: readonly BoundSession[];
}

/**
 * Makes the tables of service and floors, and fills both with equal rows.
 * @param sessions how many refresh tokens in all.
 * @returns those with which the load generator refreshes: KNOWN_TOKENS at most, and BOUND_SESSIONS.
 */
export async function fill(admin: Client, databaseUrl: string, sessions: number): Promise<KnownSessions> {
  const patience = { timeoutMs: 10_000, signal: new AbortController().signal, log: () => undefined };
  await migrate({ ...dataSourceOptions(databaseUrl, 1), migrations: MIGRATIONS }, patience);
  await admin.query(FLOOR_SCHEMA);
  await insertUsers(admin);

  const refreshTokens = newTokens(Math.min(KNOWN_TOKENS, sessions), false);
  await insertSessions(
    admin,
    refreshTokens.map((token) => ({ token, jkt: null })),
  );
  const boundSessions = newTokens(BOUND_SESSIONS, true).map((token) => ({ token, ...newKey() }));
  await insertSessions(admin, boundSessions);
  await insertOtherSessions(admin, sessions - refreshTokens.length);
  await admin.query(`
    INSERT INTO floor.refresh_tokens (token_hash, user_id, session_id, device_id, jkt, expires_at)
    SELECT token_hash, user_id, session_id, device_id, jkt, expires_at FROM refresh_tokens`);
  await admin.query('VACUUM (ANALYZE)');
  return {
    refreshTokens,
    boundSessions: boundSessions.map(({ token: refreshToken, key }) => ({ refreshToken, key })),
  };
}

/** Adds the users of all sessions: no floor looks at them, but a peer has them, too. */
export async function fillUsers(admin: Client): Promise<void> {
  await admin.query(
    `INSERT INTO users (user_id, provider, provider_user_id, username, email)
     SELECT user_id, $1, user_id::text, user_id::text, user_id || '@example.org' FROM refresh_tokens`,
    [PROVIDER],
  );
  await admin.query('VACUUM (ANALYZE) users');
}

/** Inserts users who sign in, with their devices; all is as a sign-in has written it, so that the next writes nothing new. */
async function insertUsers(admin: Client): Promise<void> {
  const numbers = [...Array(SIGN_IN_USERS).keys()];
  const identities = numbers.map(codeOf).map(identityOf);
  await admin.query(
    `INSERT INTO users (user_id, provider, provider_user_id, username, email, identity)
     SELECT id, $1, provider_user_id, username, email, jsonb_build_object('email', email)
     FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[]) AS n (id, provider_user_id, username, email)`,
    [
      PROVIDER,
      identities.map(({ provider_user_id }) => deriveUserId(PROVIDER, provider_user_id)),
      identities.map(({ provider_user_id }) => provider_user_id),
      identities.map(({ username }) => username),
      identities.map(({ email }) => email),
    ],
  );
  await admin.query(
    `INSERT INTO devices (user_id, device_id)
     SELECT user_id, device_id FROM unnest($1::text[], $2::uuid[]) AS n (provider_user_id, device_id)
     JOIN users USING (provider_user_id)`,
    [numbers.map(codeOf), numbers.map(deviceIdOf)],
  );
  for (const table of ['users', 'devices']) {
    const { rows } = await admin.query<{ columns: string }>(
      `SELECT string_agg(column_name, ', ') AS columns FROM information_schema.columns
       WHERE table_schema = 'floor' AND table_name = $1`,
      [table],
    );
    const { columns } = rows[0]!;
    await admin.query(`INSERT INTO floor.${table} (${columns}) SELECT ${columns} FROM ${table}`);
  }
}

function newTokens(count: number, bound: boolean): string[] {
  return Array.from({ length: count }, () =>
    makeRefreshToken({ userId: randomUUID(), sessionId: randomUUID(), deviceId: randomUUID() }, bound),
  );
}

/** A key, and the thumbprint of its public part (RFC 7638). */
function newKey(): { key: JsonWebKey; jkt: Buffer } {
  const { privateKey } = makeKeyPair();
  const key = privateKey.export({ format: 'jwk' });
  const { crv, kty, x, y } = key;
  return { key, jkt: createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest() };
}

async function insertSessions(
  admin: Client,
  sessions: readonly { token: string; jkt: Buffer | null }[],
): Promise<void> {
  const held = sessions.map(({ token }) => parseRefreshToken(token)!.session);
  await admin.query(
    `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, jkt, expires_at)
     SELECT user_id, session_id, device_id, token_hash, jkt, now() + interval '30 days'
     FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bytea[], $5::bytea[])
       AS n (user_id, session_id, device_id, token_hash, jkt)`,
    [
      held.map(({ userId }) => userId),
      held.map(({ sessionId }) => sessionId),
      held.map(({ deviceId }) => deviceId),
      sessions.map(({ token, jkt }) => hashRefreshToken(token, jkt)),
      sessions.map(({ jkt }) => jkt),
    ],
  );
}

async function insertOtherSessions(admin: Client, count: number): Promise<void> {
  await admin.query(
    `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at)
     SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), sha256(uuid_send(gen_random_uuid())),
       now() + interval '30 days'
     FROM generate_series(1, $1)`,
    [count],
  );
}
