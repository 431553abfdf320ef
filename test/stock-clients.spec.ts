import { bearer } from './support/bearer.js';
import { startTestService, type TestService } from './support/service.js';
import { answerIn, REDIRECT_URI, returnWith, StockClient } from './support/stock-client.js';
import { claimsOf, type Tokens } from './support/sign-in.js';
import { StubProvider } from './support/stub-provider.js';

const PUBLIC_URL = 'http://localhost:3000';

/** Sign-in for stock OAuth clients (contract §4), on two instances that share a database. */
describe('a stock OAuth client', () => {
  let provider: StubProvider;
  let here: TestService;
  let there: TestService;

  beforeAll(async () => {
    provider = await StubProvider.start();
    const env = { ...provider.env(), PUBLIC_URL, REDIRECT_URIS: REDIRECT_URI };
    here = await startTestService(env);
    there = await startTestService({ ...env, DATABASE_URL: here.databaseUrl });
  });
  afterAll(async () => {
    await there?.close();
    await here?.close();
    await provider?.close();
  });
  beforeEach(() => provider.reset());

  it('signs somebody in, each step at whichever instance', async () => {
    const client = new StockClient();
    const begun = await client.authorize(here.url, { provider: 'stub' }).expect(302);
    expect(begun.headers['location']!.startsWith(`${provider.url}/oauth2/authorize?`)).toBe(true);
    expect(answerIn(begun)).toEqual({
      client_id: 'latchkey',
      redirect_uri: `${PUBLIC_URL}/providers/stub/callback`,
      state: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const back = await returnWith(there.url, begun, { code: 'ada' }).expect(302);
    expect(back.headers['location']!.startsWith(`${REDIRECT_URI}?`)).toBe(true);
    const { code, ...rest } = answerIn(back);
    expect(code).toMatch(/^lkc_[\w-]{43}$/);
    expect(rest).toEqual({ state: client.state, iss: PUBLIC_URL });
    const { body } = await client.token(here.url, code!).expect(200);
    const tokens = body as Tokens;
    expect(tokens).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      refresh_token: expect.stringMatching(/^lkr_/),
      expires_in: 3600,
      user_id: claimsOf(tokens.access_token)['sub'],
    });
    await bearer(there.url, tokens.access_token).get('/me').expect(200);
    expect(provider.requests).toHaveLength(1);
  });
});
