import request from 'supertest';
import { randomUUID } from 'node:crypto';

export interface Tokens {
  access_token: string;
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

/** A whole sign-in: the stub provider makes the code's text the user's id. */
export async function signIn(url: string, user: string = randomUUID(), body: object = {}): Promise<Tokens> {
  const state = await beginSignIn(url);
  const response = await request(url)
    .post('/oauth2/token')
    .send({ code: user, state, ...body })
    .expect(200);
  return response.body as Tokens;
}

/** The claims of a JWT, unverified. */
export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;
}
