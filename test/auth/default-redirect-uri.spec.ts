import request from 'supertest';
import { startTestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';

const LISTED = 'https://listed.example/cb';
const OWN = 'https://own.example/cb';

describe('a redirect_uri that is left out (contract §4)', () => {
  let provider: StubProvider;
  beforeAll(async () => {
    provider = await StubProvider.start();
  });
  afterAll(() => provider?.close());

  const general = { REDIRECT_URIS: `${LISTED},https://second.example/cb` };
  const own = { PROVIDERS_STUB_REDIRECT_URIS: `${OWN},https://second.example/cb` };
  const callback = 'https://id.example/callback';

  it.each([
    ["is the first of the provider's own list", { ...general, ...own }, OWN],
    ["is the first of the provider's own list, also without another", own, OWN],
    ['else the first of REDIRECT_URIS', general, LISTED],
    ['else <PUBLIC_URL>/callback', {}, callback],
    ['is never the callback of the demo while there is a list', { ...general, DEMO_ENABLED: 'true' }, LISTED],
  ])('%s, and the provider gets the same at the exchange', async (_name, env, expected) => {
    const service = await startTestService({
      PUBLIC_URL: 'https://id.example',
      DEMO_ENABLED: 'false',
      ...provider.env(),
      ...env,
    });
    try {
      provider.reset();
      for (const redirectUri of [undefined, '']) {
        const query = { provider: 'stub', redirect_uri: redirectUri };
        const { body } = await request(service.url).get('/oauth2/authorize').query(query).expect(200);
        const { redirect_url, state } = body as { redirect_url: string; state: string };
        expect(new URL(redirect_url).searchParams.get('redirect_uri')).toBe(expected);
        await request(service.url).post('/oauth2/token').send({ code: 'ada', state }).expect(200);
        const form = new URLSearchParams(provider.requests.at(-1)!.body);
        expect(form.get('redirect_uri')).toBe(expected);
      }
    } finally {
      await service.close();
    }
  });
});
