import request, { type Response, type Test } from 'supertest';
import { randomUUID, randomBytes } from 'node:crypto';
import type { DiscoveryService } from '@nestjs/core';
import type { SignIn } from '../../src/auth/sign-in/sign-in-columns.js';
import { parseIdentity } from '../../src/provider/identity/identity.js';
import { hashRefreshToken, makeRefreshToken } from '../../src/token/refresh/refresh-token.js';
import { NO_CLAIMS } from '../../src/identity/claims.js';
import { UserLifecycles } from '../../src/user/user-lifecycle.js';
import { deriveUserId } from '../../src/identity/user-id.js';
import { NOWHERE } from './audit.js';
import { query } from './database.js';

export interface Tokens {
  access_token: string;
  token_type: string;
  refresh_token: string;
  expires_in: number;
  user_id: string;
}

/** For stores without a service. */
export const NO_FEATURES = new UserLifecycles({} as DiscoveryService);

const TRIES = 5;

/** Begins a sign-in with the provider `stub`; returns the state. */
export async function beginSignIn(url: string, asked: Record<string, string> = {}): Promise<string> {
  return (await authorization(url, asked)).state;
}

/**
 * Begins a sign-in. If the database of a busy machine is too slow, the service answers with `Retry-After`, and this asks again,
 * as a client would.
 */
export async function authorization(
  url: string,
  asked: Record<string, string>,
): Promise<{ redirect_url: string; state: string }> {
  for (let left = TRIES; ; left--) {
    const response = await request(url)
      .get('/oauth2/authorize')
      .query({ provider: 'stub', ...asked });
    if (isBusy(response) && left > 1) continue;
    if (response.status === 200) return response.body as { redirect_url: string; state: string };
    throw new Error(`a sign-in could not begin: ${response.status} ${response.text}`);
  }
}

/** A whole sign-in: the stub provider makes the code's text the user's id. It starts again when the service is too busy. */
export async function signIn(url: string, user: string = randomUUID(), body: object = {}): Promise<Tokens> {
  for (let left = TRIES; ; left--) {
    const state = await beginSignIn(url);
    const response = await request(url)
      .post('/oauth2/token')
      .send({ code: user, state, ...body });
    if (isBusy(response) && left > 1) continue;
    if (response.status === 200) return response.body as Tokens;
    throw new Error(`a sign-in was answered with ${response.status} ${response.text}`);
  }
}

/** Whether the service says that its database is too slow at this moment, and when to ask again. */
export function isBusy({ status, headers }: Response): boolean {
  return status === 500 && headers['retry-after'] !== undefined;
}

/** The claims of a JWT, unverified. */
export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;
}

/** Calls with an access token. */
export function bearer(url: string, token: string) {
  const authorize = (test: Test): Test => test.set('Authorization', `Bearer ${token}`);
  return {
    get: (path: string) => authorize(request(url).get(path)),
    post: (path: string, body?: object) => authorize(request(url).post(path)).send(body),
    put: (path: string, body: object) => authorize(request(url).put(path)).send(body),
    patch: (path: string, body?: object) => authorize(request(url).patch(path)).send(body),
    delete: (path: string) => authorize(request(url).delete(path)),
  };
}

/** A sign-in at the provider `corp` as it is written, for tests of the database without a service. */
export function signInOf(name: string, fields: Partial<SignIn> = {}, deviceId: string | null = null): SignIn {
  const jti = randomUUID();
  const expiresAt = Math.floor(Date.now() / 1000) + 900;
  return {
    session: { userId: deriveUserId('corp', name), sessionId: randomUUID(), deviceId },
    provider: 'corp',
    identity: parseIdentity({ provider_user_id: name }),
    requestedAt: Date.now(),
    providerSubject: null,
    providerSession: null,
    idToken: null,
    deviceName: null,
    userAgent: null,
    jkt: null,
    refreshTokenHash: randomBytes(32),
    refreshTokenTtl: 3600,
    idleTtl: null,
    sessionExpiry: null,
    accessToken: { token: `header.${name}.signature`, jti, expiresAt, exp: 0, expiresIn: 900 },
    claims: NO_CLAIMS,
    origin: NOWHERE,
    ...fields,
  };
}

/** Inserts sessions, each of its own user. @returns their refresh tokens */
export async function insertSessions(databaseUrl: string, count: number): Promise<string[]> {
  const sessions = Array.from({ length: count }, () => ({
    userId: randomUUID(),
    sessionId: randomUUID(),
    deviceId: randomUUID(),
  }));
  const tokens = sessions.map((session) => makeRefreshToken(session));
  await query(
    databaseUrl,
    `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at)
     SELECT *, now() + interval '30 days' FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bytea[])`,
    [
      sessions.map(({ userId }) => userId),
      sessions.map(({ sessionId }) => sessionId),
      sessions.map(({ deviceId }) => deviceId),
      tokens.map((token) => hashRefreshToken(token)),
    ],
  );
  await query(databaseUrl, 'VACUUM (ANALYZE) refresh_tokens');
  return tokens;
}
