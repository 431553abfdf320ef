import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import type { Browser, BrowserContext, BrowserContextOptions, FrameLocator, Page } from 'playwright-core';
import request from 'supertest';
import { bearer } from './support/bearer.js';
import { inChromium, launchChromium } from './support/chromium.js';
import { query } from './support/query.js';
import { startTestService, type TestService } from './support/service.js';
import { signIn as signInAtStub } from './support/sign-in.js';
import { StubProvider } from './support/stub-provider.js';

let service: TestService;
let stub: StubProvider;

beforeAll(async () => {
  stub = await StubProvider.start();
  service = await startTestService(stub.env());
});
afterAll(async () => {
  await service?.close();
  await stub?.close();
});

/** Sends a path byte for byte. */
function answerTo(
  method: string,
  path: string,
): Promise<Record<'status' | 'type' | 'allow' | 'body', unknown>> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ port: new URL(service.url).port, method, path }, (response) => {
      const { statusCode: status, headers } = response;
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      response.on('end', () =>
        resolve({ status, type: headers['content-type'], allow: headers.allow, body }),
      );
    });
    sent.on('error', reject).end();
  });
}

describe("the demo's files", () => {
  it.each([
    ['/', 'text/html; charset=utf-8', "frame-ancestors 'none'"],
    ['/callback', 'text/html; charset=utf-8', "frame-ancestors 'self'"],
    ['/demo/demo.js', 'text/javascript; charset=utf-8', "frame-ancestors 'none'"],
    ['/demo/page.css', 'text/css; charset=utf-8', "frame-ancestors 'none'"],
    ['/demo/latchkey-client.js', 'text/javascript; charset=utf-8', "frame-ancestors 'none'"],
    ['/demo/socket.io-client.js', 'text/javascript; charset=utf-8', "frame-ancestors 'none'"],
  ])('%s is %s with %s', async (path, type, framing) => {
    const response = await request(service.url).get(path).expect(200).expect('Cache-Control', 'no-cache');
    expect(response.headers['content-type']).toBe(type);
    expect(response.headers['content-security-policy']).toContain(framing);
    expect(response.headers['content-security-policy']).not.toContain('unsafe');
    const since = response.headers['last-modified'] as string;
    await request(service.url).get(path).set('If-Modified-Since', since).expect(304);
  });

  it('are all that pages may load, whatever is added to the folder', async () => {
    const names = readdirSync(fileURLToPath(new URL('../demo/', import.meta.url)));
    const loaded = names.filter((name) => !name.endsWith('.html'));
    expect(loaded).toContain('demo.js');
    for (const name of loaded) await request(service.url).get(`/demo/${name}`).expect(200);
  });

  it.each([
    '/demo',
    '/demo/',
    '/demo/index.html',
    '/demo/index.js',
    '/demo/other.js',
    '/demo/demo.js/',
    '/demo/DEMO.js',
    '/demo/%64emo.js',
    '/demo/../package.json',
    '/demo/..%2fpackage.json',
    '/demo/%2e%2e/package.json',
    '/demo/%2e%2e%2fpackage.json',
    '/demo/..%5cpackage.json',
    '/demo/demo.js/../../package.json',
    '/demo/.env',
    '/demo/%2eenv',
    '/demo/demo.js%00',
    '/callback/',
    '/package.json',
  ])('%s is not there', async (path) => {
    const { status, type, body } = await answerTo('GET', path); // as it is: clients resolve the dots
    expect([status, type, body]).toEqual([
      404,
      'application/json; charset=utf-8',
      expect.stringContaining('"not_found"'),
    ]);
  });

  it.each([
    ['POST', '/demo/demo.js'],
    ['PUT', '/demo/page.css'],
    ['DELETE', '/demo/latchkey-client.js'],
    ['POST', '/'],
  ])('answer %s %s with 405', async (method, path) => {
    const { status, allow, body } = await answerTo(method, path);
    expect([status, allow]).toEqual([405, 'GET, HEAD']);
    expect(body).toContain('"method_not_allowed"');
  });

  it('answer HEAD', async () => {
    const { headers } = await request(service.url).head('/demo/demo.js').expect(200);
    const file = await request(service.url).get('/demo/demo.js').expect(200);
    expect(Number(headers['content-length'])).toBe(Buffer.byteLength(file.text));
  });

  it('are not there when the demo is off, nor is its push', async () => {
    const without = await startTestService({ DEMO_ENABLED: 'false', DATABASE_URL: service.databaseUrl });
    try {
      for (const path of ['/', '/callback', '/demo/demo.js', '/demo/latchkey-client.js'])
        await request(without.url).get(path).expect(404);
      await request(without.url).post('/demo/push').expect(404);
    } finally {
      await without.close();
    }
  });
});

describe('POST /demo/push', () => {
  it("sends to the caller's own channel, and to no other that the body may name", async () => {
    const mine = await signInAtStub(service.url);
    const theirs = await signInAtStub(service.url);
    const body = { event: 'demo.hello', data: { n: 1 }, user_id: theirs.user_id };
    const { body: pushed } = await bearer(service.url, mine.access_token)
      .post('/demo/push')
      .send(body)
      .expect(202);
    expect(pushed).toEqual({ id: expect.any(String), offset: 1, online: false });
    const rows = await query(service.databaseUrl, 'SELECT user_id, data FROM channel_events WHERE id = $1', [
      (pushed as { id: string }).id,
    ]);
    expect(rows).toEqual([{ user_id: mine.user_id, data: '{"n":1}' }]);
  });

  it.each([
    '',
    'hello',
    'demo.',
    'device.renamed',
    'session.ended',
    'xdemo.hello',
    'demo.a b',
    `demo.${'x'.repeat(65)}`,
  ])('refuses the event name "%s"', async (event) => {
    const { access_token } = await signInAtStub(service.url);
    const { status, body } = await bearer(service.url, access_token).post('/demo/push').send({ event });
    expect([status, (body as { error: string }).error]).toEqual([400, 'invalid_request']);
  });

  it('is not there in production', async () => {
    const production = await startTestService({
      ...stub.env(),
      NODE_ENV: 'production',
      DEMO_ENABLED: 'true',
      REDIRECT_URIS: 'https://app.example.com/callback',
      RATE_LIMIT: 'off',
      DATABASE_URL: service.databaseUrl,
    });
    try {
      const { access_token } = await signInAtStub(production.url);
      const body = { event: 'demo.hello' };
      await bearer(production.url, access_token).post('/demo/push').send(body).expect(404);
      await request(production.url).get('/').expect(200);
    } finally {
      await production.close();
    }
  });
});

inChromium('the demo', () => {
  let browser: Browser;
  let contexts: BrowserContext[];
  let page: Page;
  let violations: string[];

  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());

  beforeEach(async () => {
    contexts = [];
    violations = [];
    page = await open();
  });
  afterEach(async () => {
    await Promise.all(contexts.map((context) => context.close()));
    expect(violations).toEqual([]);
  });

  /** A new browser context: for Latchkey it is another device. */
  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
    contexts.push(context);
    const opened = await context.newPage();
    opened.setDefaultTimeout(8000);
    opened.on('pageerror', (error) => violations.push(error.message));
    opened.on('console', (message) => {
      if (/Content Security Policy|X-Frame-Options/.test(message.text())) violations.push(message.text());
    });
    return opened;
  }

  const provider = (on = page): FrameLocator => on.frameLocator('iframe');
  const signInButton = (on = page) => on.getByRole('button', { name: 'Sign in', exact: true });
  const steps = (): Promise<(string | null)[]> =>
    page.locator('#steps > li').evaluateAll((items) => items.map((item) => item.getAttribute('data-state')));
  /** All steps but the refresh. */
  const LIT = ['done', 'done', 'done', 'done', 'done', 'done', null];
  const feed = (on: Page, text: string) => on.getByRole('log').getByText(text);
  const devices = (on: Page) => on.getByRole('region', { name: 'Devices' });

  async function submit(where: FrameLocator | Page, login: string, password: string): Promise<void> {
    await where.getByLabel('User name').fill(login);
    await where.getByLabel('Password').fill(password);
    await where.getByRole('button', { name: 'Sign in' }).click();
  }

  /** Waits until the whole page is shown, and the channel is open. */
  async function signIn(on = page, url = service.url): Promise<void> {
    await on.goto(url);
    await signInButton(on).click();
    await submit(provider(on), 'ada', 'analytical-engine');
    await isSignedIn(on);
  }

  async function isSignedIn(on = page, name = 'Ada Lovelace'): Promise<void> {
    await on.getByRole('heading', { name }).waitFor();
    await on.getByText('Live', { exact: true }).waitFor();
    await devices(on).getByText('This device').filter({ visible: true }).waitFor();
  }

  it('signs in through the frame, after a wrong password, and lights each step as it happens', async () => {
    await page.goto(service.url);
    expect(await steps()).toEqual([null, null, null, null, null, null, null]);
    await signInButton().click();
    await provider().getByLabel('Password').waitFor();
    expect(await steps()).toEqual(['done', 'active', null, null, null, null, null]);

    await submit(provider(), 'ada', 'wrong');
    expect(await provider().getByRole('alert').textContent()).toContain('is not right');
    const exchange = page.waitForRequest('**/oauth2/token');
    await submit(provider(), 'ada', 'analytical-engine');
    await isSignedIn();
    expect(await steps()).toEqual(LIT);
    expect(await page.locator('#steps .fact').nth(3).textContent()).toMatch(/^200, \d+ ms$/);
    expect(await page.locator('#requests').textContent()).toContain('POST /oauth2/token');

    const sent = (await exchange).postDataJSON() as Record<string, string>;
    expect(sent['code_verifier']).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(await page.locator('#email').textContent()).toBe('ada@example.com');
    expect(await page.getByRole('timer').textContent()).toMatch(/^(60:00|59:5\d)$/);
    await page.getByText('Inside the access token').click();
    const claims = await page.getByRole('table').textContent();
    for (const part of [
      sent['device_id']!,
      service.settings.publicUrl,
      await page.locator('#user-id').innerText(),
    ])
      expect(claims).toContain(part);
  });

  it('counts down, refreshes about five minutes before the end (spec §1), and starts counting again', async () => {
    await page.clock.install();
    await signIn();
    await page.clock.fastForward('54:00');
    expect(await page.getByRole('timer').textContent()).toMatch(/^(6:00|5:5\d)$/);
    expect((await steps())[6]).toBeNull();
    // The clock was put forward, so the first proof is not of this time.
    const refreshed = page.waitForResponse((one) => one.url().endsWith('/oauth2/refresh') && one.ok());
    await page.clock.fastForward('01:30');
    await refreshed;
    await page.locator('#steps > li:last-child[data-state=done]').waitFor();
    await page
      .getByRole('timer')
      .getByText(/^(60:00|59:5\d)$/)
      .waitFor();
  });

  it('asks for a new sign-in when the refresh is refused (spec §1)', async () => {
    await page.clock.install();
    await signIn();
    const refusal = { error: 'invalid_grant', error_description: 'the refresh token has ended' };
    await page.route('**/oauth2/refresh', (route) => route.fulfill({ status: 401, json: refusal }));
    await page.clock.fastForward('56:00');
    await page.getByRole('dialog').getByText('Your session has ended').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
    await submit(provider(), 'ada', 'analytical-engine');
    await isSignedIn();
  });

  it('keeps the session, and what came through the channel, over a reload', async () => {
    await signIn();
    await page.getByRole('textbox', { name: 'Event' }).fill('demo.before');
    await page.getByRole('button', { name: 'Push' }).click();
    await feed(page, 'demo.before').waitFor();
    await page.reload();
    await isSignedIn();
    await feed(page, 'demo.before').waitFor();
    expect(await steps()).toEqual([null, null, null, null, 'done', 'done', null]);
  });

  it('signs in by a redirect of the whole tab', async () => {
    await page.goto(service.url);
    await page.getByRole('button', { name: 'in this tab' }).click();
    await page.waitForURL('**/providers/mock/oauth2/authorize?**');
    await submit(page, 'grace', 'first-compiler');
    await isSignedIn(page, 'Grace Hopper');
    expect(page.url()).toBe(`${service.url}/`);
    expect(await steps()).toEqual(LIT);
  });

  it('signs in by a window of its own', async () => {
    await page.goto(service.url);
    const opened = page.waitForEvent('popup');
    await page.getByRole('button', { name: 'in a new window' }).click();
    await submit(await opened, 'grace', 'first-compiler');
    await isSignedIn(page, 'Grace Hopper');
  });

  it('signs in at a provider of another site, in a frame of that site, as the second device that the page offers', async () => {
    await signIn();
    const opened = page.waitForEvent('popup');
    await page.getByRole('link', { name: 'Open a second device' }).click();
    const second = await opened;
    expect(new URL(second.url()).hostname).toBe('127.0.0.1');
    await signIn(second, second.url());
    await devices(page)
      .getByRole('button', { name: /^Sign out/ })
      .first()
      .waitFor();
  });

  it('says why signing in failed, and lets the user try again (spec §1)', async () => {
    const refusal = { error: 'invalid_grant', error_description: 'the code is no good' };
    const once = { times: 1 };
    await page.route('**/oauth2/token', (route) => route.fulfill({ status: 401, json: refusal }), once);
    await page.goto(service.url);
    await signInButton().click();
    await submit(provider(), 'ada', 'analytical-engine');
    await page.getByRole('alert').getByText('Signing in did not work').waitFor();
    expect(await steps()).toEqual(['done', 'done', 'done', 'failed', null, null, null]);
    await page.getByRole('button', { name: 'Try again' }).click();
    await submit(provider(), 'ada', 'analytical-engine');
    await isSignedIn();
    expect(await steps()).toEqual(LIT);
  });

  it('starts again when the dialog is closed', async () => {
    await page.goto(service.url);
    await signInButton().click();
    await provider().getByLabel('Password').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.locator('#steps > li[data-state]').first().waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.id')).toBe('sign-in');
  });

  it('posts nothing for a state that is not its own', async () => {
    let posted = 0;
    page.on('request', (sent) => (posted += sent.method() === 'POST' ? 1 : 0));
    await page.goto(`${service.url}/callback?code=stolen&state=${'0f'.repeat(32)}`);
    await page.getByText('The answer does not belong to a sign-in of this window.').waitFor();
    expect(page.url()).toBe(`${service.url}/callback`);
    await page.getByRole('link', { name: 'Back to the demo' }).click();
    await signInButton().waitFor();
    expect(posted).toBe(0);
  });

  it('listens only to the callback in its own frame', async () => {
    await page.goto(service.url);
    await signInButton().click();
    await provider().getByLabel('Password').waitFor();
    await page.evaluate(`new Promise((resolve) => {
      addEventListener('message', () => setTimeout(resolve));
      const { state } = JSON.parse(sessionStorage.getItem('latchkey:${service.url}:sign-in'));
      postMessage({ type: 'latchkey:callback', query: { code: 'forged', state } }, '*');
    })`);
    expect(await steps()).toEqual(['done', 'active', null, null, null, null, null]);
  });

  describe('with two devices', () => {
    let other: Page;

    beforeEach(async () => {
      other = await open();
      await Promise.all([signIn(), signIn(other)]);
    });

    it('shows on one device the new name of the other, without a reload', async () => {
      const name = `Kitchen ${randomUUID().slice(0, 8)}`;
      await devices(page)
        .getByRole('button', { name: /^Rename/ })
        .first()
        .click();
      await page.getByRole('textbox', { name: 'Name of the device' }).fill(name);
      await page.getByRole('button', { name: 'Save' }).click();
      await devices(page).getByText(name).waitFor();
      await devices(other).getByText(name).waitFor();
      await feed(other, 'device.renamed').first().waitFor();
    });

    it('ends the session of a device that the other signs out, within a second, and says so', async () => {
      const name = `Lost ${randomUUID().slice(0, 8)}`;
      await devices(other)
        .getByRole('button', { name: /^Rename/ })
        .first()
        .click();
      await other.getByRole('textbox', { name: 'Name of the device' }).fill(name);
      await other.getByRole('button', { name: 'Save' }).click();
      const signOut = devices(page).getByRole('button', { name: `Sign out ${name}` });
      await signOut.waitFor();
      const answered = page.waitForResponse((response) => response.request().method() === 'DELETE');
      await signOut.click();
      expect((await answered).status()).toBe(204);
      const begun = performance.now();
      await other.getByRole('dialog').getByText('You were signed out on this device').waitFor();
      expect(performance.now() - begun).toBeLessThan(1000);
      await other.getByRole('button', { name: 'Close' }).click();
      await signInButton(other).waitFor();
      expect(await other.getByRole('heading', { name: 'Ada Lovelace' }).isVisible()).toBe(false);
      expect(await other.locator('#notice').isVisible()).toBe(false);
      await devices(page).getByText(name).waitFor({ state: 'detached' });
    });

    it('shows on both devices what one pushes, but a refusal only on that one', async () => {
      const event = `demo.${randomUUID()}`;
      await page.getByRole('textbox', { name: 'Event' }).fill(event);
      await page.getByRole('textbox', { name: 'Data' }).fill('{"<b>": [1, "2"]}');
      await page.getByRole('button', { name: 'Push' }).click();
      for (const each of [page, other]) {
        await feed(each, event).waitFor();
        await feed(each, '{"<b>":[1,"2"]}').first().waitFor();
      }
      await page.getByRole('textbox', { name: 'Event' }).fill('demo.plain');
      await page.getByRole('textbox', { name: 'Data' }).fill('a word');
      await page.getByRole('button', { name: 'Push' }).click();
      await feed(other, 'a word').waitFor();

      const refusal = { error: 'server_error', error_description: 'something went wrong' };
      await page.route('**/demo/push', (route) => route.fulfill({ status: 500, json: refusal }));
      await page.getByRole('button', { name: 'Push' }).click();
      await page.getByText('Something went wrong.').waitFor();
    });

    it('signs out others, and everything', async () => {
      await page.getByRole('button', { name: 'Sign out other devices' }).click();
      await page.getByText('All other devices are signed out.').waitFor();
      await other.getByRole('dialog').getByText('You were signed out on this device').waitFor();
      await other.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
      await submit(provider(other), 'ada', 'analytical-engine');
      await isSignedIn(other);
      await page.getByRole('button', { name: 'Sign out everywhere' }).click();
      await signInButton().waitFor();
      expect(await steps()).toEqual([null, null, null, null, null, null, null]);
      await other.getByRole('dialog').getByText('You were signed out on this device').waitFor();
    });

    it('signs out here alone', async () => {
      await page.getByRole('button', { name: 'Sign out', exact: true }).click();
      await signInButton().waitFor();
      expect(await page.getByRole('dialog').count()).toBe(0);
      await feed(other, 'device.signed_out').first().waitFor();
      expect(await other.getByRole('heading', { name: 'Ada Lovelace' }).isVisible()).toBe(true);
      const row = devices(other)
        .getByRole('listitem')
        .filter({ hasText: 'Signed out, last seen just now' })
        .first();
      await row.getByRole('button', { name: /^Remove/ }).waitFor(); // it cannot be signed out once more
    });
  });

  it('works by keyboard alone', async () => {
    const press = async (...keys: string[]): Promise<void> => {
      for (const key of keys) await page.keyboard.press(key);
    };
    /** Goes on with the Tab key until something of this name has the focus. */
    const tabTo = async (name: RegExp): Promise<void> => {
      for (let presses = 0; presses < 150; presses++) {
        await press('Tab');
        const focused = await page.evaluate<string>(
          `(({ ariaLabel, labels, textContent }) => ariaLabel ?? labels?.[0]?.textContent ?? textContent)(document.activeElement)`,
        );
        if (name.test(focused)) return;
      }
      throw new Error(`${name.source} cannot be reached`);
    };
    await page.goto(service.url);
    await press('Tab', 'Enter');
    await provider().getByLabel('Password').waitFor();
    await press('Tab'); // from the close button into the frame
    await page.keyboard.type('ada');
    await press('Tab');
    await page.keyboard.type('analytical-engine');
    await press('Enter');
    await isSignedIn();
    expect(await page.evaluate('document.activeElement.id')).toBe('name');

    await tabTo(/^Rename/);
    await press('Enter');
    await page.keyboard.type('Typed by hand');
    await press('Enter');
    await devices(page).getByText('Typed by hand').waitFor();
    await press('Enter', 'Escape'); // the focus is where it was
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Rename Typed by hand');

    await tabTo(/^Event/);
    await press('Enter');
    await feed(page, 'demo.hello').waitFor();

    await page.evaluate(`document.getElementById('name').focus()`);
    await tabTo(/^Sign out$/);
    await press('Enter');
    await signInButton().waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('sign-in');
  });

  /** Every state of the page, one after the other. */
  async function inEachState(look: (state: string) => Promise<void>): Promise<void> {
    await page.goto(service.url);
    await look('signed out');
    await signInButton().click();
    await provider().getByLabel('Password').waitFor();
    await look('dialog');
    await submit(provider(), 'ada', 'analytical-engine');
    await isSignedIn();
    await page.getByRole('button', { name: 'Push' }).click();
    await feed(page, 'demo.hello').first().waitFor();
    await look('signed in');
    await page.getByText('Inside the access token').click();
    await devices(page)
      .getByRole('button', { name: /^Rename/ })
      .first()
      .click();
    await look('opened');
    await page.goto(`${service.url}/callback?code=stolen&state=${'0f'.repeat(32)}`);
    await page.getByRole('alert').waitFor();
    await look('callback');
  }

  it('has no fault that axe-core knows, light or dark', async () => {
    const faults: string[] = [];
    const looks = { light: 0, dark: 0 };
    await inEachState(async (state) => {
      for (const frame of page.frames()) {
        await frame.evaluate(axe.source);
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          const { violations: found, passes } = await frame.evaluate<axe.AxeResults>(
            'axe.run(document, { iframes: false })',
          );
          looks[colorScheme] += passes.length;
          for (const { id, nodes } of found)
            faults.push(`${state}, ${colorScheme}: ${id}: ${nodes.map((node) => node.html).join()}`);
        }
      }
    });
    expect(faults).toEqual([]);
    expect(looks.light).toBeGreaterThan(100);
    expect(looks.dark).toBeGreaterThan(100);
  });

  it('fits a phone of 320 px', async () => {
    await page.setViewportSize({ width: 320, height: 640 });
    await inEachState(async (state) => {
      expect([state, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([state, 320]);
    });
  });

  describe("the provider's page without scripts", () => {
    const address = (): string => {
      const redirect_uri = `${service.url}/callback`;
      const asked = new URLSearchParams({ client_id: 'latchkey', redirect_uri, state: 'a b+c' });
      return `${service.url}/providers/mock/oauth2/authorize?${asked.toString()}`;
    };
    const arrival = async (): Promise<URLSearchParams> => {
      const sent = await page.waitForRequest((asked) => asked.url().startsWith(`${service.url}/callback?`));
      return new URL(sent.url()).searchParams;
    };

    it('signs in', async () => {
      page = await open({ javaScriptEnabled: false });
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

    it('fits a phone of 320 px', async () => {
      await page.setViewportSize({ width: 320, height: 640 });
      await page.goto(address());
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
    });
  });
});
