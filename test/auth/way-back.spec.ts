import request from 'supertest';
import { Endings } from '../support/endings.js';
import { startTestService, type TestService } from '../support/service.js';
import { REDIRECT_URI, StockClient } from '../support/stock-client.js';
import { StubProvider } from '../support/stub-provider.js';

const SHOP = 'https://shop.example/sign-in/cb';
const USED = `/providers/stub/callback?code=used&state=${'0f'.repeat(32)}`;
const LINK = /<a href="([^"]*)">Back to ([^<]*)<\/a>/;

/** The link on the page of a failed sign-in (docs/stock-clients.md#errors). */
describe('the way back to the application', () => {
  const endings = new Endings();
  let several: TestService;
  let single: TestService;

  beforeAll(async () => {
    const stub = endings.after(await StubProvider.start(), (one) => one.close());
    const start = async (uris: readonly string[]): Promise<TestService> =>
      endings.after(await startTestService({ ...stub.env(), REDIRECT_URIS: uris.join() }), (one) =>
        one.close(),
      );
    several = await start([REDIRECT_URI, SHOP, 'com.example.app:/callback', 'http://127.0.0.1/cb']);
    single = await start([REDIRECT_URI, 'com.example.app:/callback']);
  });
  afterAll(() => endings.run());

  /** Link of the page that a browser with these cookies gets. */
  async function linkFor(service: TestService, ...cookies: readonly string[]): Promise<string | undefined> {
    const { text } = await request(service.url)
      .get(USED)
      .set('Accept', 'text/html')
      .set('Cookie', cookies.join('; '))
      .expect(400);
    expect(text).toContain('This sign-in cannot go on');
    const [, address, name] = LINK.exec(text) ?? [];
    if (address !== undefined) expect(name).toBe(new URL(address).host);
    return address;
  }

  /** Begins a sign-in. @returns the cookies that the browser stores */
  async function cookiesOf(redirectUri: string): Promise<string[]> {
    const begun = await new StockClient(redirectUri).authorize(several.url, { provider: 'stub' }).expect(302);
    const set = (begun.get('Set-Cookie') ?? []).filter((one) => one.startsWith('latchkey_return='));
    for (const one of set) expect(one).toMatch(/; Path=\/providers; HttpOnly; SameSite=Lax$/);
    return set.map((one) => one.split(';')[0]!);
  }

  it.each([
    [REDIRECT_URI, 'https://app.example/'],
    [SHOP, 'https://shop.example/'],
    ['http://127.0.0.1:4711/cb', 'http://127.0.0.1:4711/'],
  ])('leads to the host of %s, with which this browser began', async (redirectUri, expected) => {
    expect(await linkFor(several, ...(await cookiesOf(redirectUri)))).toBe(expected);
  });

  it('is not known for an app on a phone, or a browser that began nothing', async () => {
    expect(await cookiesOf('com.example.app:/callback')).toEqual([]);
    expect(await linkFor(several)).toBeUndefined();
  });

  it('is the only host of REDIRECT_URIS, whatever the browser says', async () => {
    expect(await linkFor(single)).toBe('https://app.example/');
    expect(await linkFor(single, `latchkey_return=${encodeURIComponent(SHOP)}`)).toBe('https://app.example/');
  });
});
