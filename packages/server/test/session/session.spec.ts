import { signIn } from '../../../../test/support/sign-in.js';
import { until } from '../../../../test/support/waiting.js';
import { createSessions, type SessionOptions, type Sessions } from '../../src/session.js';
import { APP, CookieBrowser } from '../support/cookie-browser.js';
import { SERVICE_KEY } from '../support/fake-service.js';
import { prepare, useService } from '../../../../test/support/use.js';

const SECRET = 'a cookie secret of the tests, which is long enough';
const SESSION = '__Host-latchkey';
const DEVICE = '__Host-latchkey.device';

const unknown = (options: object): Partial<SessionOptions> => options;

/** Sign-in of an application with pages that a server renders, with the real service. */
describe('sessions', () => {
  const opened: Sessions[] = [];

  /** As another process of the application, or this one after a restart. */
  function create(more: Partial<SessionOptions> = {}): Sessions {
    const options = { issuer: service.url, clientUrl: APP, cookieSecret: SECRET, serviceKey: SERVICE_KEY };
    const created = createSessions({ ...options, tokenEndpoint: true, ...more });
    opened.push(created);
    return created;
  }
  afterAll(() => {
    for (const one of opened) one.close();
  });

  const { provider, service } = useService({ SERVICE_KEYS: SERVICE_KEY, TRUST_PROXY: 'loopback' });
  const sessions = prepare(() => create());
  beforeAll(async () => {
    await until(() => sessions.verifier.isNotified);
    provider.signInAtOnce();
  });

  async function signedIn(by = sessions): Promise<CookieBrowser> {
    const browser = new CookieBrowser(by.handle);
    expect((await browser.signIn()).status).toBe(303);
    return browser;
  }
  const sessionOf = (browser: CookieBrowser, by = sessions) => by.getSession(browser.request('/'));
  const refreshes = (): number => service.log.filter((line) => line.includes('/oauth2/refresh')).length;

  it('signs in: the cookies hide everything, and is where it wanted to go', async () => {
    const browser = new CookieBrowser(sessions.handle);
    expect(await sessionOf(browser)).toBeNull();
    const answer = await browser.signIn('/orders?page=2#last');
    expect(answer.headers.get('location')).toBe(`${APP}/orders?page=2#last`);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect([...browser.cookies.keys()]).toEqual([SESSION, DEVICE]);
    for (const header of browser.received)
      expect(header).toMatch(
        /^__Host-latchkey[\w.-]*=[\w-]*; Path=\/; Max-Age=\d+; HttpOnly; Secure; SameSite=Lax$/,
      );
    expect(browser.received.at(-2)).toContain('Max-Age=2592000');
    expect(browser.cookies.get(SESSION)!.length).toBeLessThan(400);

    const session = (await sessionOf(browser))!;
    expect(session).toEqual({
      id: session.claims.sid,
      userId: session.claims.sub,
      claims: expect.objectContaining({ iss: service.url }),
    });
    const { token, expiresIn } = (await sessions.getAccessToken(browser.request('/')))!;
    expect(expiresIn).toBeGreaterThan(3500);
    const me = await fetch(`${service.url}/me`, { headers: { Authorization: `Bearer ${token}` } });
    expect(await me.json()).toMatchObject({ user_id: session.userId });
    const all = JSON.stringify([browser.received, session, await answer.text()]);
    expect(all).not.toMatch(/lkr_|eyJ/);
  });

  it('needs nothing but the cookie in another process, which asks once', async () => {
    const browser = await signedIn();
    const [other, expected] = [create(), await sessionOf(browser)];
    const before = refreshes();
    for (let i = 0; i < 3; i++)
      expect(await sessionOf(browser, other)).toMatchObject({ id: expected!.id, userId: expected!.userId });
    expect(refreshes()).toBe(before + 1);
  });

  it('signs in two tabs at once, each to its own page', async () => {
    const browser = new CookieBrowser(sessions.handle);
    const first = await browser.untilCallback('/one');
    const second = await browser.untilCallback('/two');
    expect(browser.cookies.size).toBe(2);
    expect((await browser.visit(second)).headers.get('location')).toBe(`${APP}/two`);
    expect((await browser.visit(first)).headers.get('location')).toBe(`${APP}/one`);
    expect([...browser.cookies.keys()]).toEqual([SESSION, DEVICE]);
    expect(await sessionOf(browser)).not.toBeNull();
  });

  it('signs out: for all processes within a second, also for a copy of the cookie', async () => {
    const other = create();
    await until(() => other.verifier.isNotified);
    const browser = await signedIn();
    expect(await sessionOf(browser, other)).not.toBeNull();
    const copy = browser.request('/');
    const answer = await browser.post('/auth/sign-out?returnTo=/bye');
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `${APP}/bye`]);
    expect([...browser.cookies.keys()]).toEqual([DEVICE]);
    expect(await sessions.getSession(copy)).toBeNull();
    const signedOutAt = performance.now();
    let slowest = 0;
    for (;;) {
      const began = performance.now();
      const seen = await other.getSession(copy);
      slowest = Math.max(slowest, performance.now() - began);
      if (!seen) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(performance.now() - signedOutAt).toBeLessThan(1000 + 5 * slowest + 100);
    expect(await create().getSession(copy)).toBeNull();
  });

  it('ends a session within a second that is signed out elsewhere, and asks the service once', async () => {
    const browser = await signedIn();
    const { userId } = (await sessionOf(browser))!;
    await sessions.verifier.users.signOut(userId);
    const before = refreshes();
    await until(async () => (await sessionOf(browser)) === null);
    for (let i = 0; i < 5; i++) expect(await sessionOf(browser)).toBeNull();
    expect(refreshes()).toBe(before + 1);
  });

  it('has the current claims, though the token is older, and a small cookie also with large claims', async () => {
    const browser = await signedIn();
    const { userId } = (await sessionOf(browser))!;
    const claims = { roles: ['admin'], note: 'x'.repeat(4000) };
    await sessions.verifier.users.setClaims(userId, claims);
    await until(async () => (await sessionOf(browser))?.claims.roles?.[0] === 'admin');
    const again = await signedIn();
    expect(await sessionOf(again)).toMatchObject({
      claims: { roles: ['admin'], claims: { note: claims.note } },
    });
    expect(again.cookies.get(SESSION)!.length).toBeLessThan(400);
    (await sessionOf(again))!.claims.claims!['note'] satisfies unknown;
    ((await sessionOf(again))!.claims.roles as string[]).push('owner'); // a handler may change what it gets
    expect((await sessionOf(again))!.claims.roles).toEqual(['admin']);
    await sessions.verifier.users.setClaims(userId, {});
  });

  it('replaces the cookie secret without signing anybody out', async () => {
    const browser = await signedIn();
    const [next, gone] = [
      'the next cookie secret, also long enough',
      'a third cookie secret, not in the list',
    ];
    const both = create({ cookieSecret: [next, SECRET] });
    expect(await sessionOf(browser, both)).not.toBeNull(); // a refresh, with the key of the old secret
    const newer = await signedIn(both);
    expect(await sessionOf(newer, create({ cookieSecret: next }))).not.toBeNull();
    expect(await sessionOf(newer)).toBeNull();
    expect(await sessionOf(browser, create({ cookieSecret: gone }))).toBeNull();
  });

  it('gives scripts a token for the channel, if the option says so', async () => {
    const browser = await signedIn();
    const script = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' };
    const answer = await browser.visit('/auth/token', script);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    const body = (await answer.json()) as { access_token: string; expires_in: number };
    expect(Object.keys(body)).toEqual(['access_token', 'expires_in']);
    expect(await sessions.verifier.verify(body.access_token)).toMatchObject({ iss: service.url });
    expect((await new CookieBrowser(sessions.handle).visit('/auth/token', script)).status).toBe(401);
    const without = create({ tokenEndpoint: false });
    expect(await without.handle(browser.request('/auth/token', script))).toBeUndefined();
  });

  it('answers its own paths alone, with the right method', async () => {
    for (const path of [
      '/',
      '/auth',
      '/auth/',
      '/auth/other',
      '/Auth/sign-in',
      '/auth/sign-in/x',
      '/auth/constructor',
    ])
      expect([path, await sessions.handle(new Request(APP + path))]).toEqual([path, undefined]);
    const wrong = await sessions.handle(new Request(`${APP}/auth/sign-out`));
    expect([wrong!.status, wrong!.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await sessions.handle(new Request(`${APP}/auth/sign-in`, { method: 'POST' })))!.status).toBe(405);
  });

  it('leads to the page for errors, or has one of its own', async () => {
    const browser = new CookieBrowser(sessions.handle);
    const callback = new URL(await browser.untilCallback('/orders'));
    callback.searchParams.delete('code');
    callback.searchParams.set('error', 'login_required');
    const page = await browser.visit((await browser.visit(callback.href)).headers.get('location')!);
    expect([page.status, page.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
    const text = await page.text();
    expect(text).toContain('login_required');
    expect(text).toContain('/auth/sign-in?returnTo=%2Forders');
    expect(browser.cookies.size).toBe(0);

    const own = new CookieBrowser(create({ errorPath: '/sign-in-failed' }).handle);
    const other = new URL(await own.untilCallback('/orders'));
    other.searchParams.set('error', '<script>');
    const answer = await own.visit(other.href);
    expect(answer.headers.get('location')).toBe(
      `${APP}/sign-in-failed?error=server_error&returnTo=%2Forders`,
    );
  });

  it('ends the session that the browser had before', async () => {
    const browser = await signedIn();
    const copy = browser.request('/');
    const { id } = (await sessionOf(browser))!;
    await browser.signIn();
    expect((await sessionOf(browser))!.id).not.toBe(id);
    expect(await sessions.getSession(copy)).toBeNull();
    expect(await create().getSession(copy)).toBeNull();
  });

  it('is one device of the user in each browser, however often it signs in', async () => {
    const devices = async (browser: CookieBrowser) => (await sessionOf(browser))!.claims.device_id;
    const browser = await signedIn();
    const device = await devices(browser);
    expect(device).toMatch(/^[\da-f-]{36}$/);
    await browser.signIn();
    await browser.post('/auth/sign-out');
    await browser.signIn();
    expect(await devices(browser)).toBe(device);
    expect(await devices(await signedIn())).not.toBe(device);
    for (const forged of ['x', browser.cookies.get(SESSION)!, device!]) {
      browser.cookies.set(DEVICE, forged);
      await browser.signIn();
      expect(await devices(browser)).toMatch(/^[\da-f-]{36}$/);
      expect(await devices(browser)).not.toBe(device);
    }
  });

  it('gives the service the address that the proxy of the application sends, and nothing else', async () => {
    const behindProxy = create({ addressHeader: 'X-Forwarded-For' });
    const addressOf = async (by: Sessions, header: string): Promise<unknown> => {
      const browser = new CookieBrowser(by.handle);
      await browser.visit(await browser.untilCallback(), { 'x-forwarded-for': header });
      const { id, userId } = (await sessionOf(browser, by))!;
      for await (const one of sessions.verifier.users.sessions(userId))
        if (one.session_id === id) return one.address;
      return undefined;
    };
    expect(await addressOf(behindProxy, '203.0.113.7')).toBe('203.0.113.7');
    expect(await addressOf(behindProxy, '198.51.100.1, 2001:db8::7')).toBe('2001:db8::7'); // the first one is the user's invention
    expect(await addressOf(behindProxy, '203.0.113.7;x=y')).toMatch(/127\.0\.0\.1|::1/);
    expect(await addressOf(sessions, '203.0.113.7')).toMatch(/127\.0\.0\.1|::1/);
  });

  it('has answers that no cache keeps', async () => {
    const browser = await signedIn();
    const answers = [
      await browser.visit('/auth/sign-in'),
      await browser.visit('/auth/sign-in', { 'sec-fetch-mode': 'cors' }),
      await browser.visit('/auth/callback?state=x'),
      await browser.visit('/auth/callback'),
      await browser.visit('/auth/sign-out'),
      await browser.post('/auth/sign-out'),
      await browser.signIn(),
    ];
    expect(answers.map(({ status }) => status)).toEqual([303, 400, 303, 400, 405, 303, 303]);
    for (const { headers } of answers) expect(headers.get('cache-control')).toBe('no-store');
  });

  it('has sessions that are bound to its key: a stolen refresh token is worth nothing', async () => {
    const { refresh_token: unbound } = await signIn(service.url, 'ada');
    expect(unbound).toMatch(/^lkr_/);
    const browser = await signedIn();
    // With the secret alone, the cookie can be opened: its content is no use without the key.
    const { CookieSeal } = await import('../../src/session/cookie-seal.js');
    const { text } = new CookieSeal([SECRET]).open(SESSION, browser.cookies.get(SESSION)!)!;
    const answer = await fetch(`${service.url}/oauth2/refresh`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ refresh_token: text }),
    });
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: 'invalid_dpop_proof' }]);
    expect(await sessionOf(browser)).not.toBeNull();
  });

  it.each<[string, Partial<SessionOptions>, string]>([
    ['a short secret', { cookieSecret: 'short' }, 'cookieSecret must have 32'],
    ['no secret', { cookieSecret: undefined as unknown as string }, 'cookieSecret must have 32'],
    ['an empty list', { cookieSecret: [] }, 'cookieSecret must be one'],
    ['http', { clientUrl: 'http://app.example' }, 'clientUrl must begin with https'],
    ['a name that begins like localhost', { clientUrl: 'http://localhost.evil' }, 'clientUrl must begin'],
    ['a path', { clientUrl: `${APP}/shop` }, 'clientUrl must be an origin'],
    ['a prefix without a slash', { prefix: 'auth' }, 'prefix must be a path'],
    ['a prefix of nothing', { prefix: '/' }, 'prefix must be a path'],
    ['a foreign page for errors', { errorPath: '//evil.example' }, 'errorPath must be a path'],
    ['a header with a space', { addressHeader: 'x forwarded' }, 'addressHeader must be'],
    ['no age', { maxAge: 0 }, 'maxAge must be'],
    ['a cookie without the prefix', { cookieName: 'shop' }, 'cookieName must be __Host-'],
    ['a cookie with a dot', { cookieName: '__Host-shop.device' }, 'cookieName must be __Host-'],
    ['a cookie with a semicolon', { cookieName: '__Host-a;Domain=b' }, 'cookieName must be __Host-'],
    ['a cookie in other case', { cookieName: '__host-shop' }, 'cookieName must be __Host-'],
    ['a path of the application with a slash', { basePath: '/shop/' }, 'basePath must be a path'],
    ['a foreign path of the application', { basePath: '//evil.example' }, 'basePath must be a path'],
    [
      'an unknown option',
      unknown({ cookies: true }),
      'createSessions() has no option cookies: there are issuer,',
    ],
    ['a misspelled option', unknown({ adressHeader: 'x' }), 'did you mean addressHeader?'],
    ['an option in other case', unknown({ cookiename: 'x' }), 'did you mean cookieName?'],
    ['an option with underscores', unknown({ base_path: undefined }), 'did you mean basePath?'],
    ['an option of the prototype', unknown({ constructor: 1 }), 'has no option constructor'],
  ])('refuses %s at the start, without the value', (_name, options, message) => {
    let thrown: unknown;
    try {
      create(options);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(TypeError);
    expect(String(thrown)).toContain(message);
    expect(String(thrown)).not.toContain('short');
  });

  it('goes on to the page if a used callback comes again: Back, a restored tab, another process', async () => {
    const browser = new CookieBrowser(sessions.handle);
    const callback = await browser.untilCallback('/orders');
    const restored = browser.request(callback); // still with the attempt's cookie
    await browser.visit(callback);
    const before = await sessionOf(browser);
    const again = await browser.visit(callback);
    expect([again.status, again.headers.get('location')]).toEqual([303, `${APP}/orders`]);
    const both = `${restored.headers.get('cookie')}; ${browser.request('/').headers.get('cookie')}`;
    expect((await browser.visit(callback, { cookie: both })).headers.get('location')).toBe(`${APP}/orders`);
    const elsewhere = await create().handle(browser.request(callback));
    expect(elsewhere!.headers.get('location')).toBe(`${APP}/`);
    expect(await sessionOf(browser)).toEqual(before);

    const other = await signedIn(); // its session does not show where the first one went
    expect((await other.visit(callback)).headers.get('location')).toBe(`${APP}/`);

    await browser.post('/auth/sign-out');
    const refused = await browser.visit(callback);
    const page = await browser.visit(refused.headers.get('location')!);
    const text = await page.text();
    expect([page.status, text]).toEqual([400, expect.stringContaining('was used before')]);
    expect(text).toContain('href="https://app.example/auth/sign-in?returnTo=%2F"');
    expect(text).not.toContain('Go on');
  });

  it('answers concurrent calls of a callback alike, with one session', async () => {
    const browser = new CookieBrowser(sessions.handle);
    const callback = await browser.untilCallback('/orders');
    const cookie = browser.request(callback).headers.get('cookie')!;
    const forged = new URL(callback);
    forged.searchParams.set('code', `lkc_${'x'.repeat(43)}`);
    const before = service.log.length;
    const [first, second, other] = await Promise.all(
      [callback, callback, forged.href].map((address) => browser.visit(address, { cookie })),
    );
    expect([first, second].map((one) => one!.headers.get('location'))).toEqual(
      Array(2).fill(`${APP}/orders`),
    );
    expect(other!.headers.get('location')).toContain('error=invalid_grant');
    const exchanges = service.log.slice(before).filter((line) => line.includes('/oauth2/token'));
    expect(exchanges).toHaveLength(1);
    const ids = await Promise.all(
      [first, second].map(async (one) => {
        const [session] = one!.headers.getSetCookie().filter((header) => header.startsWith(`${SESSION}=`));
        return (await sessions.getSession({ headers: { cookie: session!.split(';')[0] } }))!.id;
      }),
    );
    expect(ids[0]).toBe(ids[1]);
  });

  it('a failed sign-in stays failed, and the page leads back into a session that goes on', async () => {
    const browser = await signedIn();
    const callback = new URL(await browser.untilCallback('/orders'));
    callback.searchParams.set('code', `lkc_${'x'.repeat(43)}`);
    const refused = await browser.visit(callback.href);
    expect(refused.headers.get('location')).toBe(
      `${APP}/auth/callback?error=invalid_grant&returnTo=%2Forders`,
    );
    const text = await (await browser.visit(refused.headers.get('location')!)).text();
    expect(text).toContain('href="https://app.example/orders"');
    expect(text).toContain('href="https://app.example/auth/sign-in?returnTo=%2Forders"');
    expect((await browser.visit(callback.href)).headers.get('location')).toContain('error=invalid_grant');
    expect(await sessionOf(browser)).not.toBeNull();
  });

  it('tabs that a browser restores together sign in, the first one too', async () => {
    const browser = new CookieBrowser(sessions.handle);
    const callbacks: string[] = [];
    for (let tab = 1; tab <= 8; tab++) callbacks.push(await browser.untilCallback(`/orders/${tab}?page=1`));
    for (const [index, callback] of callbacks.entries()) {
      const { headers } = await browser.visit(callback);
      expect(headers.get('location')).toBe(`${APP}/orders/${index + 1}?page=1`);
    }
  });

  it.each([0, 300, 1400])(
    'attempts take 4 kB of a request at most, with %d more characters',
    async (length) => {
      const browser = new CookieBrowser(sessions.handle);
      const oldest = await browser.untilCallback();
      for (let tab = 0; tab < 14; tab++) await browser.untilCallback(`/${'x'.repeat(length)}`);
      expect((await browser.visit(oldest)).headers.get('location')).toContain('error=invalid_state');
      expect(browser.request('/').headers.get('cookie')!.length).toBeLessThan(4200);
      expect((await browser.signIn('/last')).headers.get('location')).toBe(`${APP}/last`);
    },
  );

  it('two applications on one host, with a name for each cookie, leave each other alone', async () => {
    const names = ['__Host-latchkey-admin', '__Host-latch', '__Host-latchkey_sign-in-2'];
    const others = names.map((cookieName, at) =>
      create({ cookieName, cookieSecret: `the cookie secret number ${at} of the tests` }),
    );
    const browser = await signedIn();
    const first = await sessionOf(browser);
    for (const other of others) {
      const visitor = new CookieBrowser(other.handle);
      const share = (from: CookieBrowser, to: CookieBrowser): void => {
        to.cookies.clear();
        for (const [name, value] of from.cookies) to.cookies.set(name, value);
      };
      share(browser, visitor);
      for (let attempt = 0; attempt < 6; attempt++) await visitor.untilCallback();
      await visitor.signIn();
      share(visitor, browser);
    }
    for (let attempt = 0; attempt < 6; attempt++) await browser.untilCallback();
    expect((await sessionOf(browser))?.id).toBe(first!.id);
    for (const other of others) expect(await sessionOf(browser, other)).not.toBeNull();
    await browser.post('/auth/sign-out');
    for (const other of others) expect(await sessionOf(browser, other)).not.toBeNull();
  });

  it('warns without addressHeader in production, once', () => {
    const warnings = (env: string | undefined, more: Partial<SessionOptions>): string[] => {
      const lines: string[] = [];
      const before = process.env['NODE_ENV'];
      if (env === undefined) delete process.env['NODE_ENV'];
      else process.env['NODE_ENV'] = env;
      create({ ...more, onWarning: (line) => lines.push(line) });
      process.env['NODE_ENV'] = before;
      return lines;
    };
    const expected = [expect.stringMatching(/addressHeader .* TRUST_PROXY/)];
    expect(warnings('production', {})).toEqual(expected);
    expect(warnings(undefined, {})).toEqual(expected);
    expect(warnings('production', { addressHeader: 'x-real-ip' })).toEqual([]);
    expect(warnings('production', { clientUrl: 'http://localhost:3001' })).toEqual([]);
    expect(warnings('development', {})).toEqual([]);
  });

  it('takes localhost for development', () => {
    expect(() => create({ clientUrl: 'http://localhost:3001' })).not.toThrow();
  });
});
