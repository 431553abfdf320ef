import { existsSync } from 'node:fs';
import { chromium, type Browser, type BrowserContext, type FrameLocator, type Page } from 'playwright-core';
import request from 'supertest';
import { startTestService, type TestService } from './support/service.js';

const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.close());

describe("the demo's files", () => {
  it.each([
    ['/', 'text/html; charset=utf-8', "frame-ancestors 'none'"],
    ['/callback', 'text/html; charset=utf-8', "frame-ancestors 'self'"],
    ['/demo/demo.js', 'text/javascript; charset=utf-8', "frame-ancestors 'none'"],
    ['/demo/demo.css', 'text/css; charset=utf-8', "frame-ancestors 'none'"],
  ])('%s is %s with %s', async (path, type, framing) => {
    const response = await request(service.url).get(path).expect(200).expect('Cache-Control', 'no-cache');
    expect(response.headers['content-type']).toBe(type);
    expect(response.headers['content-security-policy']).toContain(framing);
    expect(response.headers['content-security-policy']).not.toContain('unsafe');
    const since = response.headers['last-modified'] as string;
    await request(service.url).get(path).set('If-Modified-Since', since).expect(304);
  });

  it.each([
    '/demo/',
    '/demo/index.html',
    '/demo/other.js',
    '/demo/..%2fpackage.json',
    '/callback/',
    '/package.json',
  ])('%s is not there', (path) => request(service.url).get(path).expect(404));

  it('are not there when the demo is off', async () => {
    const without = await startTestService({ DEMO_ENABLED: 'false', DATABASE_URL: service.databaseUrl });
    try {
      for (const path of ['/', '/callback', '/demo/demo.js'])
        await request(without.url).get(path).expect(404);
    } finally {
      await without.close();
    }
  });
});

const isThere = existsSync(CHROMIUM) || process.env['CI'] !== undefined; // CI must have it: there the launch fails
const inBrowser = isThere ? describe : describe.skip;

inBrowser(`in a browser (skipped where ${CHROMIUM} is not installed)`, () => {
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let violations: string[];

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS });
  });
  afterAll(() => browser?.close());

  beforeEach(async () => {
    await open();
  });
  afterEach(async () => {
    await context.close();
    expect(violations).toEqual([]);
  });

  async function open(options: Parameters<Browser['newContext']>[0] = {}): Promise<void> {
    context = await browser.newContext(options);
    page = await context.newPage();
    page.setDefaultTimeout(8000);
    violations = [];
    page.on('pageerror', (error) => violations.push(error.message));
    page.on('console', (message) => {
      if (/Content Security Policy|X-Frame-Options/.test(message.text())) violations.push(message.text());
    });
  }

  const provider = (): FrameLocator => page.frameLocator('#dialog iframe');
  const steps = (): Promise<(string | null)[]> =>
    page.locator('#steps > li').evaluateAll((items) => items.map((item) => item.getAttribute('data-state')));
  const stored = (): Promise<Record<string, unknown> | null> =>
    page.evaluate(`JSON.parse(sessionStorage.getItem('latchkey-demo.tokens'))`);

  async function submit(where: FrameLocator | Page, login: string, password: string): Promise<void> {
    await where.getByLabel('User name').fill(login);
    await where.getByLabel('Password').fill(password);
    await where.getByRole('button', { name: 'Sign in' }).click();
  }

  async function signIn(base = service.url): Promise<void> {
    await page.goto(base);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await submit(provider(), 'ada', 'analytical-engine');
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
  }

  it('signs in through the frame, after a wrong password, and shows what came back', async () => {
    await page.goto(service.url);
    expect(await steps()).toEqual([null, null, null, null, null, null]);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await provider().getByLabel('Password').waitFor();
    expect(await steps()).toEqual(['done', 'active', null, null, null, null]);

    await submit(provider(), 'ada', 'wrong');
    expect(await provider().getByRole('alert').textContent()).toContain('is not right');
    expect(await provider().getByLabel('User name').inputValue()).toBe('ada');
    expect(await provider().getByLabel('Password').inputValue()).toBe('');

    const exchange = page.waitForRequest('**/oauth2/token');
    await submit(provider(), 'ada', 'analytical-engine');
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
    expect(await steps()).toEqual(['done', 'done', 'done', 'done', 'done', null]);
    const sent = (await exchange).postDataJSON() as Record<string, string>;
    expect(sent['device_id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(sent['device_name']).toMatch(/ on /);
    expect(sent['code_verifier']).toMatch(/^[A-Za-z0-9_-]{43}$/);

    const tokens = await stored();
    expect(tokens).toMatchObject({ expires_in: 3600 });
    expect(await page.locator('#user-id').textContent()).toBe(tokens!['user_id']);
    const claims = await page.locator('#claims').textContent();
    expect(claims).toContain(sent['device_id']);
    expect(claims).toContain(service.settings.publicUrl);
    expect(await page.locator('[data-token=access_token] .token-text').textContent()).toHaveLength(21);
    await page.getByRole('button', { name: 'Show access_token' }).click();
    expect(await page.locator('[data-token=access_token] .token-text').textContent()).toBe(
      tokens!['access_token'],
    );
  });

  it('refreshes the access token, keeps the refresh token, and forgets both', async () => {
    await signIn();
    const before = await stored();
    await page.getByRole('button', { name: 'Refresh the access token' }).click();
    await page.getByText('The refresh token stayed the same.').waitFor();
    const after = await stored();
    expect(after!['access_token']).not.toBe(before!['access_token']);
    expect(after!['refresh_token']).toBe(before!['refresh_token']);
    expect((await steps())[5]).toBe('done');

    await page.reload();
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor();

    await page.getByRole('button', { name: 'Forget' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await stored()).toBeNull();
  });

  it('refreshes about five minutes before the token ends (spec §1)', async () => {
    await page.clock.install();
    await signIn();
    const before = await stored();
    await page.clock.fastForward('54:00');
    expect((await stored())!['access_token']).toBe(before!['access_token']);
    const refreshed = page.waitForResponse('**/oauth2/refresh');
    await page.clock.fastForward('02:00');
    expect((await refreshed).status()).toBe(200);
  });

  it('asks for a new sign-in when the refresh is refused (spec §1)', async () => {
    await signIn();
    await page.evaluate(`{
      const key = 'latchkey-demo.tokens';
      const tokens = JSON.parse(sessionStorage.getItem(key));
      sessionStorage.setItem(key, JSON.stringify({ ...tokens, refresh_token: 'lkr_unknown' }));
    }`);
    await page.getByRole('button', { name: 'Refresh the access token' }).click();
    await page.getByText('Your session has ended').waitFor();
    expect(await stored()).toBeNull();
    await page.getByRole('button', { name: 'Try again' }).click();
    await provider().getByLabel('Password').waitFor();
  });

  it('signs in by a redirect of the whole tab', async () => {
    await page.goto(service.url);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'Open in this tab instead' }).click();
    await page.waitForURL('**/providers/mock/oauth2/authorize?**');
    await submit(page, 'grace', 'first-compiler');
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
    expect(page.url()).toBe(`${service.url}/`);
    expect(await steps()).toEqual(['done', 'done', 'done', 'done', 'done', null]);
  });

  it('signs in at a provider of another site, in a frame of that site', async () => {
    await signIn(service.url.replace('localhost', '127.0.0.1'));
    expect(await stored()).toMatchObject({ expires_in: 3600 });
  });

  it('works by keyboard alone', async () => {
    await page.goto(service.url);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await provider().getByLabel('Password').waitFor();
    await page.keyboard.press('Tab'); // from the close button into the frame
    await page.keyboard.type('ada');
    await page.keyboard.press('Tab');
    await page.keyboard.type('analytical-engine');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('session-title');
  });

  it('says why signing in failed, and lets the user try again (spec §1)', async () => {
    const refusal = { error: 'invalid_grant', error_description: 'the code is no good' };
    await page.route('**/oauth2/token', (route) => route.fulfill({ status: 401, json: refusal }), {
      times: 1,
    });
    await page.goto(service.url);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await submit(provider(), 'ada', 'analytical-engine');
    await page.getByRole('alert').getByText('The code is no good.').waitFor();
    expect(await steps()).toEqual(['done', 'done', 'done', 'failed', null, null]);
    await page.getByRole('button', { name: 'Try again' }).click();
    await submit(provider(), 'ada', 'analytical-engine');
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
  });

  it('posts nothing for a state that is not its own', async () => {
    let posted = 0;
    page.on('request', (sent) => (posted += sent.url().endsWith('/oauth2/token') ? 1 : 0));
    await page.goto(`${service.url}/callback?code=stolen&state=${'0f'.repeat(32)}`);
    await page.getByText('The answer does not belong to a sign-in of this tab.').waitFor();
    expect(page.url()).toBe(`${service.url}/`);
    expect(posted).toBe(0);
  });

  it('listens only to the callback in its own frame', async () => {
    await page.goto(service.url);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await provider().getByLabel('Password').waitFor();
    await page.evaluate(`new Promise((resolve) => {
      addEventListener('message', () => setTimeout(resolve));
      const { state } = JSON.parse(sessionStorage.getItem('latchkey-demo.pending'));
      postMessage({ type: 'latchkey-callback', query: { code: 'forged', state } }, '*');
    })`);
    expect(await steps()).toEqual(['done', 'active', null, null, null, null]);
  });

  describe("the provider's page without scripts", () => {
    const address = (): string => {
      const redirect_uri = `${service.url}/callback`;
      const query = new URLSearchParams({ client_id: 'latchkey', redirect_uri, state: 'a b+c' });
      return `${service.url}/providers/mock/oauth2/authorize?${query.toString()}`;
    };
    const arrival = async (): Promise<URLSearchParams> => {
      const sent = await page.waitForRequest((asked) => asked.url().startsWith(`${service.url}/callback?`));
      return new URL(sent.url()).searchParams;
    };

    it('signs in', async () => {
      await context.close();
      await open({ javaScriptEnabled: false });
      await page.goto(address());
      await submit(page, 'ada', 'wrong');
      await page.getByRole('alert').waitFor();
      const [back] = await Promise.all([arrival(), submit(page, 'ada', 'analytical-engine')]);
      expect(back.get('state')).toBe('a b+c');
      expect(back.get('code')).toMatch(/^[A-Za-z0-9_-]{43}$/);
    });

    it('signs in inside a frame that may do nothing but submit forms', async () => {
      const src = address().replaceAll('&', '&amp;');
      const body = `<iframe width="420" height="560" sandbox="allow-forms" src="${src}"></iframe>`;
      await page.route(`${service.url}/around`, (route) => route.fulfill({ contentType: 'text/html', body }));
      await page.goto(`${service.url}/around`);
      const frame = page.frameLocator('iframe');
      const [back] = await Promise.all([arrival(), submit(frame, 'ada', 'analytical-engine')]);
      expect(back.get('code')).toMatch(/^[A-Za-z0-9_-]{43}$/);
    });

    it.each([
      ['the page', address],
      ['the demo', () => service.url],
    ])('%s fits a phone of 320 px', async (_name, url) => {
      await page.setViewportSize({ width: 320, height: 640 });
      await page.goto(url());
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
    });
  });
});
