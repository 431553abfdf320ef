import request, { type Response } from 'supertest';
import { query } from '../support/database.js';
import { SERVICE_KEY, startTestService, type TestService } from '../support/service.js';
import { bearer, type Tokens } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

type Env = Record<string, string>;

interface Answer {
  readonly redirect_url: string;
  readonly state: string;
}

/**
 * Starts a service for the tests of the surrounding block: its users sign in at `corp`, and join accounts of `hub`.
 * @param env further settings
 */
export function useLinked(env: (corp: StubProvider, hub: StubProvider) => Env = () => ({})) {
  const corp = use(() => StubProvider.start());
  const hub = use(() => StubProvider.start());
  const settings = (): Env => ({
    ...corp.env('CORP'),
    ...hub.env('HUB'),
    PROVIDERS_MOCK_ENABLED: 'false',
    PROVIDERS_CORP_LINKS: 'hub',
    SERVICE_KEYS: SERVICE_KEY,
    ...env(corp, hub),
  });
  const here = use(() => startTestService(settings()));
  const sql = (text: string, ...values: unknown[]) => query(here.databaseUrl, text, values);
  const isLive = async ({ access_token }: Tokens): Promise<boolean> =>
    (await bearer(here.url, access_token).get('/me')).status === 200;
  return { corp, hub, here, settings, sql, isLive };
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
