import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import request from 'supertest';
import { Endings } from '../support/endings.js';
import { ClientKey } from '../support/dpop.js';
import { query } from '../support/database.js';
import { SERVICE_KEY, startTestService, type TestService } from '../support/service.js';
import { bearer, beginSignIn, claimsOf, type Tokens } from '../support/sign-in.js';
import { answerIn, REDIRECT_URI, returnWith, StockClient } from '../support/stock-client.js';
import { StubProvider } from '../support/stub-provider.js';

const PUBLIC_URL = 'http://localhost:3000';
/** The code is JSON: members of the identity. */
const ADAPTER = `
  export default {
    authorizationUrl: (provider, { state, redirectUri }) =>
      new URL('https://corp.example/?' + new URLSearchParams({ state, redirect_uri: redirectUri })),
    exchange: async (provider, { code }) => ({ provider_user_id: 'ada', ...JSON.parse(code) }),
  };`;
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

const codeOf = (session_expiry: unknown): string => JSON.stringify({ session_expiry });

type Answer = Tokens & { readonly refresh_token_expires_in?: number };

/** `session_expiry` of a provider (docs/guides/session-length.md#the-providers-session), and `BINDING`. */
describe('the end of the session at the provider', () => {
  const endings = new Endings();
  let provider: StubProvider;
  let service: TestService;
  let bound: TestService;

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'adapter-'));
    endings.after(folder, (path) => rm(path, { recursive: true }));
    const file = join(folder, 'adapter.mjs');
    await writeFile(file, ADAPTER);
    provider = endings.after(await StubProvider.start(), (one) => one.close());
    const env = {
      ...provider.env(),
      PROVIDERS_CORP_ADAPTER: file,
      PROVIDERS_CORP_URL: 'https://corp.example',
      PROVIDERS_CORP_CLIENT_ID: 'latchkey',
      PROVIDERS_CORP_CLIENT_SECRET: 'a client secret of corp',
      PUBLIC_URL,
      REDIRECT_URIS: REDIRECT_URI,
      SERVICE_KEYS: SERVICE_KEY,
    };
    service = endings.after(await startTestService(env), (one) => one.close());
    const strict = { ...env, BINDING: 'required', DATABASE_URL: service.databaseUrl };
    bound = endings.after(await startTestService(strict), (one) => one.close());
  });
  afterAll(() => endings.run());

  const exchange = async (expiry: unknown, name = 'corp'): Promise<request.Response> => {
    const state = await beginSignIn(service.url, { provider: name, redirect_uri: REDIRECT_URI });
    return request(service.url)
      .post('/oauth2/token')
      .send({ code: codeOf(expiry), state });
  };

  it('ends tokens and session', async () => {
    const end = inSeconds(1000);
    const { status, body } = await exchange(end);
    expect(status).toBe(200);
    const tokens = body as Answer;
    expect(claimsOf(tokens.access_token)['exp']).toBe(end);
    expect(tokens.refresh_token_expires_in).toBeLessThanOrEqual(1000);
    const { refresh_token } = tokens;
    const refreshed = await request(service.url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
    const again = refreshed.body as Answer;
    expect(claimsOf(again.access_token)['exp']).toBe(end);
    expect(again.refresh_token_expires_in).toBeLessThanOrEqual(1000);
    const { body: found } = await bearer(service.url, SERVICE_KEY).get(`/users/${tokens.user_id}`);
    const expires_at = new Date(end * 1000).toISOString();
    const session = expect.objectContaining({
      expires_at,
      idle_expires_at: null,
      ends_because: 'session_expiry',
    });
    expect((found as { sessions: unknown[] }).sessions).toContainEqual(session);
  });

  it('that is brought forward ends the next token', async () => {
    const { body } = await exchange(inSeconds(3000));
    const { access_token, refresh_token } = body as Tokens;
    const end = inSeconds(500);
    await query(
      service.databaseUrl,
      'UPDATE refresh_tokens SET expires_at = to_timestamp($2) WHERE session_id = $1',
      [claimsOf(access_token)['sid'], end],
    );
    const refreshed = await request(service.url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
    expect(claimsOf((refreshed.body as Tokens).access_token)['exp']).toBe(end);
  });

  it.each([
    ['in 2300', 10_413_792_000],
    ['absent', undefined],
    ['null', null],
  ])('has no effect: %s', async (_, expiry) => {
    const { status, body } = await exchange(expiry);
    expect(status).toBe(200);
    expect(Object.keys(body as object).toSorted()).toEqual(
      ['access_token', 'expires_in', 'refresh_token', 'token_type', 'user_id'].toSorted(),
    );
    expect((body as Tokens).expires_in).toBe(3600);
  });

  it.each([0, -5, 1_600_000_000])('in the past (%i) refuses the sign-in', async (expiry) => {
    const { status, body } = await exchange(expiry);
    expect([status, body]).toMatchObject([403, { error: 'access_denied' }]);
    const begun = await new StockClient().authorize(service.url, { provider: 'corp' }).expect(302);
    const back = await returnWith(service.url, begun, { code: codeOf(expiry) }).expect(302);
    expect(answerIn(back)).toMatchObject({ error: 'access_denied' });
  });

  it.each(['2030-01-01', '1800000000', 1.5, {}, true])('of another type (%p) is an error', async (expiry) => {
    const { status, body } = await exchange(expiry);
    expect([status, body]).toMatchObject([500, { error: 'server_error' }]);
    expect([...service.log, ...bound.log].join('')).toContain('a session_expiry that is no integer');
  });

  it('is no member of the provider contract', async () => {
    provider.answerWith(200, { provider_user_id: 'ada', session_expiry: 'tomorrow' });
    expect((await exchange('unused', 'stub')).status).toBe(200);
    provider.reset();
  });

  it('reaches the tokens of a stock client, too', async () => {
    const client = new StockClient();
    const end = inSeconds(1000);
    const code = await client.codeFrom(service.url, { provider: 'corp', code: codeOf(end) });
    const { body } = await client.token(service.url, code).expect(200);
    expect(claimsOf((body as Tokens).access_token)['exp']).toBe(end);
  });

  it('BINDING=required refuses a sign-in without a proof, before anything is consumed', async () => {
    const htu = `${PUBLIC_URL}/oauth2/token`;
    const key = new ClientKey();
    const state = await beginSignIn(bound.url);
    const body = { code: randomUUID(), state };
    const refused = await request(bound.url).post('/oauth2/token').send(body).expect(400);
    expect(refused.body).toMatchObject({ error: 'invalid_dpop_proof' });
    const signedIn = await request(bound.url).post('/oauth2/token').set('DPoP', key.proof(htu)).send(body);
    expect(signedIn.status).toBe(200);
    const client = new StockClient();
    const code = await client.codeFrom(bound.url);
    await client.token(bound.url, code).expect(400);
    await client.token(bound.url, code).set('DPoP', key.proof(htu)).expect(200);
  });

  it('BINDING=required leaves the sessions that are not bound', async () => {
    const { body } = await exchange(inSeconds(1000));
    const { refresh_token } = body as Tokens;
    await request(bound.url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
  });
});
