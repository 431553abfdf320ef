import { until } from '../../../../test/support/waiting.js';
import { createSessions, type SessionOptions, type Sessions } from '../../src/session.js';
import { APP, CookieBrowser } from '../support/cookie-browser.js';
import { SERVICE_KEY } from '../support/fake-service.js';
import { useService } from '../../../../test/support/use.js';

const SECRET = 'a cookie secret of the tests, which is long enough';
const REFUSED = `${APP}/auth/callback?error=access_denied&returnTo=%2Forders`;

/** An account that may not sign in, in an application with pages that a server renders. */
describe('sessions, for an account that may not sign in', () => {
  let sessions: Sessions;
  let warnings: string[];
  const opened: Sessions[] = [];

  const { provider, service } = useService({
    PROVIDERS_STUB_ALLOW: 'claim:plan=gold',
    SERVICE_KEYS: SERVICE_KEY,
    TRUST_PROXY: 'loopback',
  });
  beforeAll(() => provider.signInAtOnce());
  beforeEach(async () => {
    warnings = [];
    provider.claims.clear();
    sessions = create();
    await until(() => sessions.verifier.isNotified);
  });
  afterEach(() => {
    for (const one of opened.splice(0)) one.close();
  });

  function create(more: Partial<SessionOptions> = {}): Sessions {
    const options = { issuer: service.url, clientUrl: APP, cookieSecret: SECRET, serviceKey: SERVICE_KEY };
    const created = createSessions({ ...options, onWarning: (line) => warnings.push(line), ...more });
    opened.push(created);
    return created;
  }
  const admit = (): unknown => provider.claims.set('ada', { plan: 'gold' });
  const linksOf = (text: string): Record<string, string> =>
    Object.fromEntries([...text.matchAll(/<a href="([^"]*)">([^<]*)/g)].map(([, to, name]) => [name, to]));

  it('has a page with 403, which begins again with a choice of accounts', async () => {
    const browser = new CookieBrowser(sessions.handle);
    const refused = await browser.signIn('/orders');
    expect([refused.status, refused.headers.get('location')]).toEqual([303, REFUSED]);
    const page = await browser.visit(REFUSED);
    const text = await page.text();
    expect(page.status).toBe(403);
    expect(text).toContain('<p>This account may not sign in here.');
    const again = 'https://app.example/auth/sign-in?returnTo=%2Forders';
    expect(linksOf(text)).toEqual({
      'Use another account': `${again}&#38;prompt=select_account`,
      'Try again': again,
    });
    const begun = await browser.visit(`${again}&prompt=select_account`);
    expect(begun.headers.get('location')).toContain('&prompt=select_account');
    expect(browser.cookies.has('__Host-latchkey')).toBe(false);
    admit();
    expect((await browser.signIn('/orders')).headers.get('location')).toBe(`${APP}/orders`);
  });

  it('has it also if the service refuses at the exchange, and gives no advice about settings', async () => {
    admit();
    const browser = new CookieBrowser(sessions.handle);
    await browser.signIn();
    const { userId } = (await sessions.getSession(browser.request('/')))!;
    await sessions.verifier.users.suspend(userId);
    expect((await browser.signIn('/orders')).headers.get('location')).toBe(REFUSED);
    await sessions.verifier.users.restore(userId);
    expect(warnings).toEqual([]);
  });

  it('has it also for a refusal in the callback of the provider', async () => {
    const browser = new CookieBrowser(sessions.handle);
    const { answer } = provider;
    provider.answer = ({ path }, response) => {
      const query = new URL(path, provider.url).searchParams;
      const callback = `${query.get('redirect_uri')}?error=access_denied&state=${query.get('state')}`;
      response.writeHead(302, { Location: callback }).end();
    };
    const refused = await browser.signIn('/orders').finally(() => (provider.answer = answer));
    expect(refused.headers.get('location')).toBe(REFUSED);
    expect((await browser.visit(REFUSED)).status).toBe(403);
  });

  it('leads back into a session that goes on', async () => {
    admit();
    const browser = new CookieBrowser(sessions.handle);
    await browser.signIn();
    const text = await (await browser.visit(REFUSED)).text();
    expect(linksOf(text)).toHaveProperty(['Go on without a new sign-in'], 'https://app.example/orders');
  });

  it('leads to the page of the application, if it has one', async () => {
    const own = new CookieBrowser(create({ errorPath: '/sign-in-failed' }).handle);
    const refused = await own.signIn('/orders');
    expect(refused.headers.get('location')).toBe(
      `${APP}/sign-in-failed?error=access_denied&returnTo=%2Forders`,
    );
  });
});
