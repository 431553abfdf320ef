import request from 'supertest';
import { randomUUID } from 'node:crypto';

export interface Tokens {
  access_token: string;
  token_type: string;
  refresh_token: string;
  expires_in: number;
  user_id: string;
}

/** Begins a sign-in with the provider `stub`; returns the state. */
export async function beginSignIn(url: string, query: Record<string, string> = {}): Promise<string> {
  const response = await request(url)
    .get('/oauth2/authorize')
    .query({ provider: 'stub', ...query })
    .expect(200);
  return (response.body as { state: string }).state;
}

const TRIES = 5;

/**
 * A whole sign-in: the stub provider makes the code's text the user's id. If the database of a busy machine is too slow,
 * the service answers with `Retry-After`, and this starts again, as a client would.
 */
export async function signIn(url: string, user: string = randomUUID(), body: object = {}): Promise<Tokens> {
  for (let left = TRIES; ; left--) {
    const state = await beginSignIn(url);
    const response = await request(url)
      .post('/oauth2/token')
      .send({ code: user, state, ...body });
    const isBusy = response.status === 500 && response.headers['retry-after'] !== undefined;
    if (isBusy && left > 1) continue;
    if (response.status === 200) return response.body as Tokens;
    throw new Error(`a sign-in was answered with ${response.status} ${response.text}`);
  }
}

/** The claims of a JWT, unverified. */
export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;
}
