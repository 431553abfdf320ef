import { query } from '../../../../test/support/database.js';
import { until } from '../../../../test/support/waiting.js';
import { Sessions } from '../../src/session/sessions.js';
import { APP, CookieBrowser } from '../support/cookie-browser.js';
import { SERVICE_KEY } from '../support/fake-service.js';
import { useService } from '../../../../test/support/use.js';

const IDLE = 1800;
const MINUTE = 60_000;

/**
 * Idle time (docs/guides/session-length.md#in-server-rendered-pages). The tests set the clock of the application; the end that the
 * service knows is set in its database.
 */
describe('a session with idle time', () => {
  let time: number;
  let sessions: Sessions;
  let browser: CookieBrowser;
  let all: Sessions[];

  const { provider, service } = useService({ SERVICE_KEYS: SERVICE_KEY, SESSION_IDLE_TTL: String(IDLE) });
  beforeAll(() => provider.signInAtOnce());
  beforeEach(async () => {
    [time, all] = [0, []];
    sessions = create();
    browser = new CookieBrowser(sessions.handle);
    await browser.signIn();
  });
  afterEach(() => {
    for (const one of all) one.close();
  });

  /** A process of the application. */
  function create(options: { serviceKey?: string } = { serviceKey: SERVICE_KEY }): Sessions {
    const made = new Sessions(
      {
        issuer: service.url,
        clientUrl: APP,
        cookieSecret: 'a cookie secret of the tests, which is long enough',
        tokenEndpoint: true,
        onWarning: () => undefined,
        ...options,
      },
      () => time,
    );
    all.push(made);
    return made;
  }
  /** Whether the request has a session. */
  const page = async (by = sessions, headers: Record<string, string> = {}): Promise<boolean> =>
    (await by.getSession(browser.request('/', headers))) !== null;
  const script = async (by = sessions): Promise<boolean> => {
    const headers = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' };
    return (await by.handle(browser.request('/auth/token', headers)))!.status === 200;
  };
  const setLeft = (seconds: number): Promise<unknown> =>
    query(
      service.databaseUrl,
      `UPDATE refresh_tokens SET idle_ends_at = now() + interval '${seconds} seconds'`,
    );
  const left = async (): Promise<number> => {
    const [row] = await query<{ left: number }>(
      service.databaseUrl,
      `SELECT extract(epoch FROM max(idle_ends_at) - now())::float8 AS left FROM refresh_tokens WHERE signed_out_at IS NULL`,
    );
    return row!.left;
  };

  it('goes on by the first page request of a minute; the cookie stays as it is', async () => {
    const cookie = browser.request('/').headers.get('cookie');
    await setLeft(1000);
    time = 50_000;
    expect(await page()).toBe(true);
    time = MINUTE;
    expect(await page()).toBe(true);
    await until(async () => (await left()) > IDLE - 100);
    expect(browser.request('/').headers.get('cookie')).toBe(cookie);
  });

  it.each<[string, () => Promise<boolean>]>([
    ['a prefetch', () => page(sessions, { 'Sec-Purpose': 'prefetch' })],
    ['a prerendering', () => page(sessions, { 'Sec-Purpose': 'prefetch;prerender' })],
    ['a prefetch of a script', () => page(sessions, { Purpose: 'prefetch' })],
    ['a prefetch of a link of Next.js', () => page(sessions, { 'Next-Router-Prefetch': '1' })],
    ['a prefetch that another process answers', () => page(create(), { 'Sec-Purpose': 'prefetch' })],
    ['a token for a script', () => script()],
    ['a token of another process', () => script(create())],
  ])('does not by %s, also if it needs a new access token', async (_name, request) => {
    await setLeft(1000);
    time = (IDLE + 1) * 1000; // the access token has expired
    expect(await request()).toBe(true);
    expect(Math.abs((await left()) - 1000)).toBeLessThan(10);
  });

  it('ends in all processes when the service ends it', async () => {
    const other = create();
    await page(other);
    await setLeft(-1);
    time = (IDLE + 1) * 1000;
    const answers = [await page(), await page(other), await page(create()), await script()];
    expect(answers).toEqual([false, false, false, false]);
  });

  it('without a service key counts from the last page request of this process', async () => {
    const alone = create({});
    await page(alone);
    time = 50_000;
    await page(alone);
    time = (IDLE + 1) * 1000;
    expect(await script(alone)).toBe(true);
    expect(await left()).toBeLessThan(60);
  });
});
