import { TcpProxy } from '../../../../test/support/tcp-proxy.js';
import { until } from '../../../../test/support/waiting.js';
import { Sessions } from '../../src/session/sessions.js';
import { APP, CookieBrowser } from '../support/cookie-browser.js';
import { SERVICE_KEY } from '../support/fake-service.js';
import { use, useEach, useService } from '../../../../test/support/use.js';

const RENDERS = 50;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/**
 * Refreshes by many renders at once, which cannot write a cookie. The tests set the clock of the token's
 * life.
 */
describe('a session whose access token expires', () => {
  let time = 0;
  let browser: CookieBrowser;

  const { provider, service } = useService({ SERVICE_KEYS: SERVICE_KEY });
  const proxy = use(
    () => TcpProxy.before(service.url),
    (one) => one.refuse(),
  );
  beforeAll(() => provider.signInAtOnce());
  const sessions = useEach(() => create());
  beforeEach(async () => {
    browser = new CookieBrowser(sessions.handle);
    await browser.signIn();
  });

  const create = (): Sessions =>
    new Sessions(
      {
        issuer: service.url,
        url: `http://127.0.0.1:${proxy.port}`,
        clientUrl: APP,
        cookieSecret: 'a cookie secret of the tests, which is long enough',
        serviceKey: SERVICE_KEY,
        whenAway: 'accept',
        onWarning: () => undefined,
      },
      () => time,
    );
  const refreshes = (): number => service.log.filter((line) => line.includes('/oauth2/refresh')).length;
  const renders = (by = sessions) =>
    Promise.all(Array.from({ length: RENDERS }, () => by.getSession(browser.request('/'))));
  const jti = async (): Promise<string> => (await sessions.getSession(browser.request('/')))!.claims.jti;

  it('is refreshed once for 50 parallel renders of a process, and nobody is signed out', async () => {
    const other = create();
    const cookie = browser.request('/').headers.get('cookie');
    const [before, first] = [refreshes(), await jti()];
    for (let hour = 1; hour <= 3; hour++) {
      time += HOUR;
      const seen = await Promise.all([renders(), renders(other)]);
      expect(seen.flat().filter((session) => session === null)).toEqual([]);
      expect(new Set(seen.flat().map((session) => session!.id)).size).toBe(1);
      expect(refreshes()).toBe(before + 2 * hour); // two processes
    }
    expect(await jti()).not.toBe(first);
    expect(browser.request('/').headers.get('cookie')).toBe(cookie);
    other.close();
  });

  it('is refreshed in the background five minutes before, and pages do not wait for it', async () => {
    const [before, first] = [refreshes(), await jti()];
    time += 54 * MINUTE;
    await renders();
    expect(refreshes()).toBe(before);
    time += 2 * MINUTE;
    proxy.freeze();
    const seen = await renders();
    expect(new Set(seen.map((session) => session!.claims.jti))).toEqual(new Set([first]));
    await proxy.restore();
    await until(async () => (await jti()) !== first);
    expect(refreshes()).toBe(before + 1);
    expect((await sessions.getAccessToken(browser.request('/')))!.expiresIn).toBeGreaterThan(3000);
  });

  it('gives calls and scripts a token that is not about to expire', async () => {
    time += 56 * MINUTE;
    const { expiresIn } = (await sessions.getAccessToken(browser.request('/')))!;
    expect(expiresIn).toBe(3600);
  });

  it('outlives an outage: the token is used until it expires, then 503, never signed out', async () => {
    await proxy.refuse();
    time += 56 * MINUTE;
    expect((await renders()).filter((session) => session === null)).toEqual([]);
    expect(await sessions.getAccessToken(browser.request('/'))).toMatchObject({ expiresIn: 240 });
    time += 5 * MINUTE;
    await expect(sessions.getSession(browser.request('/'))).rejects.toMatchObject({
      status: 503,
      code: 'temporarily_unavailable',
    });
    const out = await browser.post('/auth/sign-out');
    expect([out.status, [...browser.cookies.keys()]]).toEqual([503, ['__Host-latchkey.device']]); // this browser is signed out; it says so
    await proxy.restore();
    await browser.signIn();
    expect(await sessions.getSession(browser.request('/'))).not.toBeNull();
  });

  it('ends if the session was signed out during an outage of the feed', async () => {
    const session = await sessions.getSession(browser.request('/'));
    await sessions.verifier.users.signOut(session!.userId);
    time += HOUR;
    expect(new Set(await renders())).toEqual(new Set([null]));
  });
});
