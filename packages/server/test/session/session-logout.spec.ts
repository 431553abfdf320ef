import { makeLogoutToken } from '../../../../test/support/forged-tokens.js';
import { OpenIdStub } from '../../../../test/support/openid-stub.js';
import { startTestService } from '../../../../test/support/service.js';
import { until } from '../../../../test/support/waiting.js';
import { requireRecentAuth } from '../../src/requirements.js';
import { createSessions } from '../../src/session.js';
import { APP, CookieBrowser } from '../support/cookie-browser.js';
import { SERVICE_KEY } from '../support/fake-service.js';
import { use } from '../../../../test/support/use.js';

/**
 * Sign-out of pages and of an OpenID provider: each ends the other's session
 * (docs/provider-sign-out.md#back-channel-logout).
 */
describe('sign-out and the provider', () => {
  let browser: CookieBrowser;

  const provider = use(() => OpenIdStub.start());
  beforeAll(() => {
    provider.callback = { code: 'ada' };
    provider.metadata = { end_session_endpoint: `${provider.url}/end` };
  });
  const service = use(() =>
    startTestService({
      PROVIDERS_STUB_ADAPTER: 'oidc',
      PROVIDERS_STUB_URL: provider.url,
      PROVIDERS_STUB_CLIENT_ID: 'latchkey',
      PROVIDERS_STUB_CLIENT_SECRET: 'a client secret of the stub',
      SERVICE_KEYS: SERVICE_KEY,
    }),
  );
  const sessions = use(() =>
    createSessions({
      issuer: service.url,
      clientUrl: APP,
      cookieSecret: 'a cookie secret of the tests, which is long enough',
      serviceKey: SERVICE_KEY,
      providerLogout: true,
    }),
  );
  beforeAll(() => until(() => sessions.verifier.isNotified));
  beforeEach(async () => {
    browser = new CookieBrowser(sessions.handle);
    await browser.signIn();
    expect(await sessionOf(browser)).not.toBeNull();
  });
  const sessionOf = (one: CookieBrowser) => sessions.getSession(one.request('/'));

  it('leads to the logout page of the provider, which leads to the home page', async () => {
    const copy = browser.request('/');
    const out = await browser.post('/auth/sign-out?returnTo=/bye');
    const page = new URL(out.headers.get('location')!);
    expect([out.status, page.origin + page.pathname]).toEqual([303, `${provider.url}/end`]);
    expect(page.searchParams.get('post_logout_redirect_uri')).toBe(`${APP}/`);
    expect(out.headers.get('location')).not.toMatch(/lkr_/);
    expect(await sessionOf(browser)).toBeNull();
    expect(await sessions.getSession(copy)).toBeNull();
  });

  it('is recent after a sign-in with max_age, in the same browser', async () => {
    const isRecent = async (): Promise<boolean> => {
      const { claims } = (await sessionOf(browser))!;
      try {
        requireRecentAuth({ maxAge: 300 })(claims);
        return true;
      } catch (error) {
        expect(error).toMatchObject({ code: 'insufficient_user_authentication' });
        return false;
      }
    };
    const now = Math.floor(Date.now() / 1000);
    provider.claims = { auth_time: now - 1000 };
    await browser.signIn();
    expect(await isRecent()).toBe(false);
    // A provider that does not ask again, and the user who takes the parameter out.
    await browser.visit(await browser.untilCallback('/', '&max_age=300'));
    expect(await isRecent()).toBe(false);
    provider.claims = { auth_time: now };
    await browser.visit(await browser.untilCallback('/', '&max_age=300'));
    expect(await isRecent()).toBe(true);
    provider.claims = {};
  });

  it('signs out, and leads to returnTo, if the session has ended before', async () => {
    const { userId } = (await sessionOf(browser))!;
    await sessions.verifier.users.signOut(userId);
    const out = await browser.post('/auth/sign-out?returnTo=/bye');
    expect([out.status, out.headers.get('location')]).toEqual([303, `${APP}/bye`]);
    expect((await browser.post('/auth/sign-out')).headers.get('location')).toBe(`${APP}/`);
  });

  it('ends with the session of the provider, by back-channel logout, while others go on', async () => {
    provider.claims = provider.user = { sub: 'grace' };
    const other = new CookieBrowser(sessions.handle);
    await other.signIn();
    provider.claims = provider.user = {};
    const logoutToken = makeLogoutToken(provider.key, { iss: provider.url, sub: 'ada' }, {});
    const { status } = await fetch(`${service.url}/providers/stub/backchannel-logout`, {
      method: 'POST',
      body: new URLSearchParams({ logout_token: logoutToken }),
    });
    expect(status).toBe(200);
    await until(async () => (await sessionOf(browser)) === null);
    expect(await sessionOf(other)).not.toBeNull();
  });
});
