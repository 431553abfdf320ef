import { generateKeyPairSync } from 'node:crypto';
import request from 'supertest';
import { OpenIdStub } from '../support/openid-stub.js';
import { startTestService } from '../support/service.js';
import { answerIn, REDIRECT_URI, StockClient } from '../support/stock-client.js';
import { use } from '../support/use.js';

const PUBLIC_URL = 'http://localhost:3000';
const CALLBACK = `${PUBLIC_URL}/providers/apple/callback`;
const KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
});

/** Provider that sends its callback by POST, as Apple does. */
describe('a callback by POST', () => {
  const stub = use(() => OpenIdStub.start());
  const service = use(() =>
    startTestService({
      PUBLIC_URL,
      REDIRECT_URIS: REDIRECT_URI,
      PROVIDERS_APPLE_ADAPTER: 'apple',
      PROVIDERS_APPLE_URL: stub.url,
      PROVIDERS_APPLE_CLIENT_ID: 'latchkey',
      PROVIDERS_APPLE_TEAM_ID: 'ABCDE12345',
      PROVIDERS_APPLE_CLIENT_KEY: KEY as string,
      PROVIDERS_APPLE_CLIENT_KEY_ID: 'KEY1234567',
      PROVIDERS_CORP_ADAPTER: 'oidc',
      PROVIDERS_CORP_URL: stub.url,
      PROVIDERS_CORP_CLIENT_ID: 'latchkey',
      PROVIDERS_CORP_CLIENT_SECRET: 'a client secret',
    }),
  );
  beforeEach(() => stub.reset());

  const post = (form: object, name = 'apple'): request.Test =>
    request(service.url).post(`/providers/${name}/callback`).type('form').send(form);
  /** Begins a sign-in of the specification's flow; the ID token gets its nonce. */
  const begin = async (): Promise<{ state: string; page: Record<string, string> }> => {
    const { body } = await request(service.url)
      .get('/oauth2/authorize')
      .query({ provider: 'apple' })
      .expect(200);
    const { redirect_url: url, state } = body as { redirect_url: string; state: string };
    const page = Object.fromEntries(new URL(url).searchParams);
    stub.claims = { nonce: page['nonce'] };
    return { state, page };
  };

  it('is passed on to the client of the specification, which then exchanges the code', async () => {
    const { state, page } = await begin();
    expect(page).toMatchObject({
      redirect_uri: CALLBACK,
      response_mode: 'form_post',
      scope: 'openid name email',
    });
    const user = '{"name":{"firstName":"Ada"}}';
    for (let times = 0; times < 2; times++) {
      // The state is not spent by it.
      const back = await post({ code: 'a code+', state, user }).expect(303);
      expect(back.headers['location']!.split('?')[0]).toBe(REDIRECT_URI);
      expect(answerIn(back)).toEqual({ code: 'a code+', state });
    }
    const answer = { code: 'a code+', state, redirect_uri: REDIRECT_URI };
    await request(service.url).post('/oauth2/token').send(answer).expect(200);
    const form = new URLSearchParams(stub.requests.find(({ path }) => path === '/token')!.body);
    expect(form.get('redirect_uri')).toBe(CALLBACK);
    const [header = '', claims = ''] = form.get('client_secret')!.split('.');
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toMatchObject({
      alg: 'ES256',
      kid: 'KEY1234567',
    });
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({ iss: 'ABCDE12345' });
  });

  it('with an error is passed on as well', async () => {
    const { state } = await begin();
    const back = await post({ error: 'user_cancelled_authorize', state }).expect(303);
    expect(answerIn(back)).toEqual({ error: 'user_cancelled_authorize', state });
  });

  it('gives a stock client its code', async () => {
    const client = new StockClient();
    const begun = await client.authorize(service.url, { provider: 'apple' }).expect(302);
    stub.claims = { nonce: answerIn(begun)['nonce'] };
    const back = await post({ code: 'c', state: answerIn(begun)['state'] }).expect(303);
    const { code, ...rest } = answerIn(back);
    expect(rest).toEqual({ state: client.state, iss: PUBLIC_URL });
    await client.token(service.url, code!).expect(200);
    await post({ code: 'c', state: answerIn(begun)['state'] }).expect(401); // spent
  });

  it.each<[string, object, string, number]>([
    ['an unknown state', { code: 'c', state: 'a'.repeat(64) }, 'apple', 401],
    ['no state', { code: 'c' }, 'apple', 400],
    ['neither code nor error', { state: 'a'.repeat(64) }, 'apple', 400],
    ['an unknown provider', { code: 'c', state: 'a'.repeat(64) }, 'nope', 404],
    ['a provider that answers by GET', { code: 'c', state: 'a'.repeat(64) }, 'corp', 405],
  ])('is refused with %s', async (_name, form, name, status) => {
    const { headers } = await post(form, name).expect(status);
    expect(headers['location']).toBeUndefined();
    expect(headers['allow']).toBe(status === 405 ? 'GET' : undefined); // docs/errors.md#method_not_allowed
  });

  it('is refused with the state of another provider', async () => {
    const { body } = await request(service.url)
      .get('/oauth2/authorize')
      .query({ provider: 'corp' })
      .expect(200);
    const { state } = body as { state: string };
    await post({ code: 'c', state }).expect(401);
  });
});
