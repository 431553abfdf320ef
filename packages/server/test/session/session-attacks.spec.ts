import { StockClient } from '../../../../test/support/stock-client.js';
import { CookieSeal } from '../../src/session/cookie-seal.js';
import { returnAddress } from '../../src/session/return-to.js';
import { createSessions } from '../../src/session.js';
import { APP, CookieBrowser } from '../support/cookie-browser.js';
import { use, useService } from '../../../../test/support/use.js';

const SECRET = 'a cookie secret of the tests, which is long enough';
const SESSION = '__Host-latchkey';

/** RFC 10017 §5 and §6, RFC 9700 §4: what an attacker with a page, a link, a sibling host or a copied cookie tries. */
describe('attacks on sessions', () => {
  let browser: CookieBrowser;

  const { provider, service } = useService();
  const sessions = use(() =>
    createSessions({
      issuer: service.url,
      clientUrl: APP,
      cookieSecret: SECRET,
      tokenEndpoint: true,
    }),
  );
  beforeAll(() => provider.signInAtOnce());
  beforeEach(() => {
    browser = new CookieBrowser(sessions.handle);
  });

  const isSignedIn = async (): Promise<boolean> => (await sessions.getSession(browser.request('/'))) !== null;
  const exchanges = (): number => service.log.filter((line) => line.includes('/oauth2/token')).length;

  /** Goes to a callback that is refused. @returns the error. No page has the address with the code */
  async function refusal(callback: string, by = browser): Promise<string | null> {
    const answer = await by.visit(callback);
    const { pathname, searchParams } = new URL(answer.headers.get('location')!);
    expect([answer.status, pathname, [...searchParams.keys()]]).toEqual([
      303,
      '/auth/callback',
      ['error', 'returnTo'],
    ]);
    return searchParams.get('error');
  }

  it('login CSRF: a callback that another browser began signs nobody in', async () => {
    const attacker = new CookieBrowser(sessions.handle);
    const callback = await attacker.untilCallback();
    const before = exchanges();
    expect([await refusal(callback), browser.received]).toEqual(['invalid_state', []]);
    expect(exchanges()).toBe(before);
    // Nor does it disturb a sign-in that the victim has begun.
    const own = await browser.untilCallback();
    await browser.visit(callback);
    await browser.visit(own);
    expect(await isSignedIn()).toBe(true);
  });

  it('code injection: the code of another sign-in does not fit the verifier', async () => {
    const foreign = new URL(await new CookieBrowser(sessions.handle).untilCallback());
    const own = new URL(await browser.untilCallback());
    own.searchParams.set('code', foreign.searchParams.get('code')!);
    expect(await refusal(own.href)).toBe('invalid_grant');
    expect(browser.cookies.size).toBe(0);
  });

  it('mix-up: an answer without our issuer, or with another, never sends the code anywhere', async () => {
    for (const iss of [undefined, 'https://evil.example', `${service.url}/`]) {
      const callback = new URL(await browser.untilCallback());
      callback.searchParams.delete('iss');
      if (iss !== undefined) callback.searchParams.set('iss', iss);
      const before = exchanges();
      expect(await refusal(callback.href)).toBe('invalid_issuer');
      expect(exchanges()).toBe(before);
      expect(browser.cookies.size).toBe(0);
    }
  });

  it('replay: a callback works once, and again it leaves the session as it is', async () => {
    const callback = await browser.untilCallback();
    const attempt = new Map(browser.cookies);
    await browser.visit(callback);
    const before = exchanges();
    expect((await browser.visit(callback)).headers.get('location')).toBe(`${APP}/`);
    expect(await isSignedIn()).toBe(true);
    // With the attempt's cookie, too, the code is used up.
    const copy = new CookieBrowser(sessions.handle);
    for (const [name, value] of attempt) copy.cookies.set(name, value);
    expect(await refusal(callback, copy)).toBe('invalid_grant');
    expect(exchanges()).toBe(before);
  });

  // A sibling host may set any name without `__Host-`; Node.js gives bytes as characters of Latin-1.
  it.each(['\u00a0', '\u0085', '\v', '\f', '\ufeff', '\u2003', '\u00a0 ', '%20', '"'])(
    'tossing: a cookie whose name begins or ends with %j is not ours',
    async (character) => {
      await browser.signIn();
      const value = browser.cookies.get(SESSION)!;
      const names = [`${character}${SESSION}`, `${SESSION}${character}`, ` ${character}${SESSION}`];
      for (const cookie of [...names.map((name) => `${name}=${value}`), `${SESSION}=${character}${value}`])
        expect([cookie, await sessions.getSession({ headers: { cookie } })]).toEqual([cookie, null]);
      const ours = `a=b;\t ${SESSION}=${value} \t; c=d`;
      expect(await sessions.getSession({ headers: { cookie: ours } })).not.toBeNull();
    },
  );

  it('refuses an attempt that took too long, also if the browser keeps its cookie', async () => {
    const callback = new URL(await browser.untilCallback());
    const [name] = [...browser.cookies.keys()];
    const seal = new CookieSeal([SECRET]);
    const attempt = JSON.parse(seal.open(name!, browser.cookies.get(name!)!)!.text) as object;
    browser.cookies.set(name!, seal.seal(name!, JSON.stringify({ ...attempt, until: Date.now() - 1 })));
    expect(await refusal(callback.href)).toBe('invalid_state');
  });

  it('fixation, tossing: only what this application has sealed under this very name counts', async () => {
    await browser.untilCallback();
    const [[name, attempt]] = [...browser.cookies] as [[string, string]];
    await browser.signIn();
    const good = browser.cookies.get(SESSION)!;
    browser.cookies.clear();
    const flipped = (at: number): string =>
      good.slice(0, at) + (good[at] === 'A' ? 'B' : 'A') + good.slice(at + 1);
    const forged = [
      ...Array.from({ length: good.length - 1 }, (_, at) => flipped(at)),
      attempt,
      '',
      'undefined',
      'A',
      good.slice(0, -4),
      `${good}AAAA`,
      'A'.repeat(4000),
      'A'.repeat(15_000),
      Buffer.from('lkr_forged').toString('base64url'),
      new CookieSeal(['another secret, which has its 32 characters']).seal(SESSION, 'lkr_forged'),
    ];
    const before = service.log.length;
    for (const value of forged) {
      browser.cookies.set(SESSION, value);
      expect([value, await isSignedIn()]).toEqual([value, false]);
    }
    expect(service.log.length).toBe(before); // nothing reaches the service
    browser.cookies.clear();
    for (const other of ['latchkey', '__Secure-latchkey', '__host-latchkey', `${SESSION}x`, name])
      browser.cookies.set(other, good);
    expect(await isSignedIn()).toBe(false);
    browser.cookies.set(SESSION, good);
    expect(await isSignedIn()).toBe(true);
  });

  it('takes a session cookie for no attempt', async () => {
    const callback = new URL(await browser.untilCallback());
    const [name] = [...browser.cookies.keys()];
    browser.cookies.set(name!, new CookieSeal([SECRET]).seal(SESSION, 'lkr_x'));
    expect(await refusal(callback.href)).toBe('invalid_state');
  });

  it('new tokens: a script that sends a frame here with a code of its own finds no address with a code', async () => {
    const own = new StockClient(`${APP}/auth/callback`); // with a verifier that the script knows
    for (const query of [
      `code=${await own.codeFrom(service.url)}`,
      'code=x&error=access_denied',
      'state=x',
    ]) {
      expect(await refusal(`/auth/callback?${query}&state=${own.state}`)).toBe('invalid_state');
      if (!query.startsWith('state')) expect(await refusal(`/auth/callback?${query}`)).toBe('invalid_state');
    }
    const page = await browser.visit('/auth/callback?error=<b>&returnTo=//evil.example');
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(await page.text()).not.toMatch(/<b>|evil/);
  });

  const FOREIGN: [string, Record<string, string>][] = [
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['a sibling host', { 'sec-fetch-site': 'same-site', origin: 'https://other.app.example' }],
    ['an old browser on another site', { 'sec-fetch-site': '', origin: 'https://evil.example' }],
    ['an origin that begins like ours', { 'sec-fetch-site': '', origin: `${APP}.evil.example` }],
    ['a sandboxed frame', { 'sec-fetch-site': 'cross-site', origin: 'null' }],
    ['a sandboxed frame in an old browser', { 'sec-fetch-site': '', origin: 'null' }],
    ['another port', { 'sec-fetch-site': '', origin: `${APP}:8443` }],
    ['http', { 'sec-fetch-site': '', origin: 'http://app.example' }],
  ];
  const foreign = (path: string, headers: Record<string, string>, method: string): Request => {
    const request = browser.request(path, headers, method);
    if (headers['sec-fetch-site'] === '') request.headers.delete('sec-fetch-site');
    return request;
  };

  it.each(FOREIGN)(
    'CSRF: a form of %s signs nobody out, changes nothing, gets no token',
    async (_name, headers) => {
      await browser.signIn();
      expect((await sessions.handle(foreign('/auth/sign-out', headers, 'POST')))!.status).toBe(403);
      const script = { ...headers, 'sec-fetch-mode': 'cors' };
      const token = (await sessions.handle(foreign('/auth/token', script, 'GET')))!;
      expect([token.status, await token.text()]).toEqual([403, expect.not.stringContaining('eyJ')]);
      expect(token.headers.get('access-control-allow-origin')).toBeNull();
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
        expect(await sessions.getSession(foreign('/orders', headers, method))).toBeNull();
      expect(await isSignedIn()).toBe(true);
    },
  );

  it('serves pages of the application, of old browsers, and with the policy no-referrer', async () => {
    await browser.signIn();
    for (const headers of [
      { 'sec-fetch-site': 'same-origin', origin: APP },
      { 'sec-fetch-site': 'same-origin', origin: 'null' },
      { 'sec-fetch-site': '', origin: APP },
    ])
      expect(await sessions.getSession(foreign('/orders', headers, 'POST'))).not.toBeNull();
    const silent = foreign('/auth/sign-out', { 'sec-fetch-site': '' }, 'POST');
    expect((await sessions.handle(silent))!.status).toBe(403);
    expect(await isSignedIn()).toBe(true);
    const link = { 'sec-fetch-site': 'cross-site' }; // a link in an e-mail
    expect(await sessions.getSession(browser.request('/', link))).not.toBeNull();
  });

  it('shows the token to no page: neither navigation nor frame gets it', async () => {
    await browser.signIn();
    const page = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' };
    expect((await browser.visit('/auth/token', page)).status).toBe(403);
  });

  it('begins no sign-in for an image, a prefetch or a prerendering', async () => {
    const headers = [
      { 'sec-fetch-mode': 'no-cors' },
      { 'sec-fetch-mode': 'cors' },
      { 'sec-purpose': 'prefetch;prerender' },
    ];
    for (const one of headers) {
      const answer = await browser.visit('/auth/sign-in', one);
      expect([answer.status, browser.received]).toEqual([400, []]);
    }
  });

  it('sends codes to its own address alone, whatever the request calls the host', async () => {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' };
    const request = new Request('http://evil.example/auth/sign-in?redirect_uri=https://evil.example', {
      headers,
    });
    const location = new URL((await sessions.handle(request))!.headers.get('location')!);
    expect(location.origin).toBe(service.url);
    expect(location.searchParams.getAll('redirect_uri')).toEqual([`${APP}/auth/callback`]);
  });

  it('passes parameters of the sign-in, and replaces none of its own', async () => {
    const query =
      'provider=stub&max_age=60&login_hint=ada&state=x&client_id=x&response_type=token&code_challenge=x';
    const answer = await browser.visit(`/auth/sign-in?${query}`);
    const { searchParams } = new URL(answer.headers.get('location')!);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      provider: 'stub',
      max_age: '60',
      login_hint: 'ada',
      client_id: 'app.example',
      response_type: 'code',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect([...new Set(searchParams.keys())]).toHaveLength([...searchParams].length);
  });

  it('open redirect: leads to paths of the application alone', async () => {
    const home = `${APP}/`;
    const refused = [
      '//evil.example',
      '/\\evil.example',
      '\\\\evil.example',
      '/\t/evil.example',
      '/\n/evil.example',
      '\t//evil.example',
      ' //evil.example',
      '/..//evil.example',
      '/.//evil.example',
      '/a/../..//evil.example',
      '/%2e%2e//evil.example',
      '/%2e//evil.example',
      'https://evil.example',
      'https:evil.example',
      'javascript:alert(1)',
      'data:text/html,x',
      'evil.example',
      '@evil.example',
      '/a\\..\\..\\evil.example',
      '/a\r\nSet-Cookie: x=y',
      '/a\0',
      '/a\u0085b',
      '/auth/sign-in',
      '/auth/sign-out?x',
      '/%61uth/sign-in',
      '/x/../auth/sign-in',
      '/auth',
      `/${'x'.repeat(1000)}`,
      `/${'€'.repeat(200)}`,
      '',
    ];
    for (const path of refused) expect([path, returnAddress(path, APP, '/auth')]).toEqual([path, home]);
    expect(returnAddress(null, APP, '/auth')).toBe(home);
    const taken: [string, string][] = [
      ['/', '/'],
      ['/orders?q=a&b=//evil.example#x', '/orders?q=a&b=//evil.example#x'],
      ['/a//b', '/a//b'],
      ['/%2f%2fevil.example', '/%2f%2fevil.example'],
      ['/@evil.example', '/@evil.example'],
      ['/authors', '/authors'],
      ['/grüße', '/gr%C3%BC%C3%9Fe'],
    ];
    for (const [path, expected] of taken) expect(returnAddress(path, APP, '/auth')).toBe(APP + expected);

    for (const path of ['//evil.example', '/..//evil.example']) {
      expect((await browser.signIn(path)).headers.get('location')).toBe(home);
      const out = await browser.post(`/auth/sign-out?returnTo=${encodeURIComponent(path)}`);
      expect(out.headers.get('location')).toBe(home);
    }
  });

  it('takes requests that no browser sends', async () => {
    for (const url of [
      '//[',
      '*',
      'http://[',
      '//evil.example/auth/sign-in',
      '/auth/callback?state=%00&state=x',
    ]) {
      const answer = await sessions.handle({ method: 'GET', url, headers: { cookie: '=; ;;a;=x; \0=' } });
      expect([303, 400, undefined]).toContain(answer?.status);
    }
    expect(await sessions.getSession({ headers: {} })).toBeNull();
    expect(await sessions.getSession({ headers: { cookie: `${SESSION}; ${SESSION}=` } })).toBeNull();
  });
});
