import request, { type Response } from 'supertest';
import { bearer, type Tokens } from '../support/sign-in.js';
import type { TestService } from '../support/service.js';

interface Answer {
  readonly redirect_url: string;
  readonly state: string;
}

/** Signs a user of a provider in. The stub makes the code's text the user's id. */
export async function signInAt(
  { url }: TestService,
  provider: string,
  code: string,
  body: object = {},
): Promise<Response> {
  const begun = await request(url).get('/oauth2/authorize').query({ provider });
  const { state } = begun.body as Answer;
  return request(url)
    .post('/oauth2/token')
    .send({ code, state, ...body });
}

export async function tokensAt(...call: Parameters<typeof signInAt>): Promise<Tokens> {
  const { status, body } = await signInAt(...call);
  expect([status, body]).toEqual([200, expect.objectContaining({ user_id: expect.any(String) })]);
  return body as Tokens;
}

/** Joins an identity to the user of an access token. @returns the last answer */
export async function link(
  { url }: TestService,
  { access_token }: Tokens,
  provider: string,
  code: string,
): Promise<Response> {
  const caller = bearer(url, access_token);
  const begun = await caller.post('/me/identities', { provider });
  if (begun.status !== 200) return begun;
  const { state } = begun.body as Answer;
  return caller.post('/me/identities/complete', { code, state });
}
