import { OpenIdStub } from '../../../test/support/openid-stub.js';
import { startTestService } from '../../../test/support/service.js';
import { createVerifier, requireRecentAuth, type Claims, type RecentAuth } from '../src/index.js';
import { createSessions } from '../src/session.js';
import { APIS, serve } from './support/apis.js';
import { APP, CookieBrowser } from './support/cookie-browser.js';
import { FakeService, SERVICE_KEY } from './support/fake-service.js';

const now = (): number => Math.floor(Date.now() / 1000);
const CHALLENGE =
  'Bearer error="insufficient_user_authentication", max_age="300", acr_values="gold platinum"';

/** Step-up (docs/guides/step-up.md#in-your-api; RFC 9470): an API asks for a recent sign-in. */
describe('requireRecentAuth', () => {
  let service: FakeService;
  beforeAll(async () => void (service = await FakeService.start()));
  afterAll(() => service.close());

  it.each(Object.entries(APIS))('%s: lets in, or answers 401 with what is missing', async (_name, start) => {
    const handled: string[] = [];
    let asking = '';
    const observer = { call: () => void handled.push(asking), error: () => undefined };
    const api = await serve(await start(createVerifier({ issuer: service.url }), observer));
    const cases: [string, Record<string, unknown>, number][] = [
      ['recent and gold', { auth_time: now() - 200, acr: 'gold' }, 200],
      ['recent and platinum', { auth_time: now(), acr: 'platinum' }, 200],
      ['as old as the service accepts', { auth_time: now() - 330, acr: 'gold' }, 200],
      ['old', { auth_time: now() - 400, acr: 'gold' }, 401],
      ['of the future', { auth_time: now() + 400, acr: 'gold' }, 401],
      ['silent', {}, 401],
      ['a time as text', { auth_time: String(now()), acr: 'gold' }, 401],
      ['a list of classes', { auth_time: now(), acr: ['gold'] }, 401],
      ['another class', { auth_time: now(), acr: 'silver' }, 401],
      ['the user’s own claims', { claims: { auth_time: now(), acr: 'gold' } }, 401],
    ];
    try {
      for (const [name, claims, status] of cases) {
        asking = name;
        const token = await service.token(claims);
        const answer = await fetch(`${api.url}/pay`, { headers: { authorization: `Bearer ${token}` } });
        expect([name, answer.status]).toEqual([name, status]);
        if (status === 200) continue;
        expect(answer.headers.get('www-authenticate')).toBe(CHALLENGE);
        expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
        expect(await answer.json()).toEqual({
          error: 'insufficient_user_authentication',
          error_description: 'the user has to sign in again for this',
        });
      }
      const passed = cases.filter(([, , status]) => status === 200).map(([name]) => name);
      expect(handled).toEqual(passed);
      const stranger = await fetch(`${api.url}/pay`); // without a token, the usual answer
      expect(stranger.headers.get('www-authenticate')).toBe('Bearer');
    } finally {
      await api.close();
    }
  });

  const challenge = (needed: RecentAuth, claims: object): string | undefined => {
    try {
      requireRecentAuth(needed)(claims);
      return undefined;
    } catch (error) {
      return (error as { headers: Record<string, string> }).headers['WWW-Authenticate'];
    }
  };

  it('asks for one of both', () => {
    const code = 'Bearer error="insufficient_user_authentication"';
    expect(challenge({ maxAge: 0 }, { auth_time: now() - 600 })).toBe(`${code}, max_age="0"`);
    expect(challenge({ maxAge: 0 }, { auth_time: now() - 1 })).toBeUndefined(); // or else no sign-in would do
    expect(challenge({ acr: 'urn:mace:gold' }, { acr: 'x' })).toBe(`${code}, acr_values="urn:mace:gold"`);
    expect(challenge({ acr: 'urn:mace:gold' }, { acr: 'urn:mace:gold' })).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ['nothing', {}],
    ['an empty list', { acr: [] }],
    ['a negative age', { maxAge: -1 }],
    ['a fraction', { maxAge: 0.5 }],
    ['a text', { maxAge: '300' }],
    ['a class that is empty', { acr: '' }],
    ['a class with a space', { acr: 'gold platinum' }],
    ['a class that ends the header', { acr: 'gold", max_age="1' }],
    ['a class with a line break', { acr: ['gold', 'x\r\nSet-Cookie: a=b'] }],
  ])('fails at the start for %s', (_name, needed) => {
    expect(() => requireRecentAuth(needed as RecentAuth)).toThrow(TypeError);
  });

  it('fails without authenticate()', () => {
    const check = requireRecentAuth({ maxAge: 300 });
    expect(() => check(undefined as unknown as Claims)).toThrow('authenticate() has to run before');
  });

  it('leads a page that a server renders through another sign-in, in place of the session', async () => {
    const provider = await OpenIdStub.start();
    const real = await startTestService({
      PROVIDERS_STUB_ADAPTER: 'oidc',
      PROVIDERS_STUB_URL: provider.url,
      PROVIDERS_STUB_CLIENT_ID: 'latchkey',
      PROVIDERS_STUB_CLIENT_SECRET: 'a client secret',
      SERVICE_KEYS: SERVICE_KEY,
    });
    const sessions = createSessions({
      issuer: real.url,
      clientUrl: APP,
      cookieSecret: 'a cookie secret of the tests, which is long enough',
      serviceKey: SERVICE_KEY,
    });
    try {
      provider.callback = { code: 'one' };
      provider.claims = { auth_time: now() - 1000, acr: 'silver', amr: ['pwd'] };
      const browser = new CookieBrowser(sessions.handle);
      await browser.signIn();
      const claimsNow = async (): Promise<Claims> =>
        (await sessions.getSession(browser.request('/limits')))!.claims;
      const before = await claimsNow();
      expect(() => requireRecentAuth({ maxAge: 300 })(before)).toThrow('insufficient_user_authentication');
      const old = new CookieBrowser(sessions.handle);
      for (const [name, value] of browser.cookies) old.cookies.set(name, value);

      provider.claims = { auth_time: now() };
      await browser.visit(await browser.untilCallback('/limits', '&max_age=300'));
      const after = await claimsNow();
      requireRecentAuth({ maxAge: 300 })(after);
      expect(after.sid).not.toBe(before.sid);
      expect(await sessions.getSession(old.request('/limits'))).toBeNull();
    } finally {
      sessions.close();
      await real.close();
      await provider.close();
    }
  });
});
