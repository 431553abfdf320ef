import { readdirSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { fileURLToPath } from 'node:url';
import request from 'supertest';
import { bearer, signIn as signInAtStub } from '../../support/sign-in.js';
import { inChromium } from '../../support/chromium.js';
import {
  useVisitors,
  devices,
  isSignedIn,
  provider,
  signIn,
  signInButton,
  steps,
  submit,
} from '../demo-visitor.js';
import { query } from '../../support/database.js';
import { startTestService } from '../../support/service.js';
import { useService } from '../../support/use.js';

const { provider: stub, service } = useService();

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
    ['/latchkey-client/index.js', 'text/javascript; charset=utf-8', "frame-ancestors 'none'"],
    ['/latchkey-client/sockets.js', 'text/javascript; charset=utf-8', "frame-ancestors 'none'"],
  ])('%s is %s with %s', async (path, type, framing) => {
    const response = await request(service.url).get(path).expect(200).expect('Cache-Control', 'no-cache');
    expect(response.headers['content-type']).toBe(type);
    expect(response.headers['content-security-policy']).toContain(framing);
    expect(response.headers['content-security-policy']).not.toContain('unsafe');
    const etag = response.headers['etag'] as string;
    await request(service.url).get(path).set('If-None-Match', etag).expect(304);
  });

  it('are all that pages may load, whatever is added to the folder', async () => {
    const names = readdirSync(fileURLToPath(new URL('../../../demo/', import.meta.url)));
    const loaded = names.filter((name) => !name.endsWith('.html'));
    expect(loaded).toContain('demo.js');
    for (const name of loaded) await request(service.url).get(`/demo/${name}`).expect(200);
  });

  it.each([
    '/demo',
    '/demo/',
    '/demo/other.js',
    '/demo/%2e%2e%2fpackage.json',
    '/demo/..%5cpackage.json',
    '/latchkey-client/types/index.d.ts',
    '/demo/%2eenv',
    '/demo/demo.js%00',
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
    ['DELETE', '/latchkey-client/index.js'],
    ['POST', '/'],
  ])('answer %s %s with 405', async (method, path) => {
    const { status, allow, body } = await answerTo(method, path);
    expect([status, allow]).toEqual([405, 'GET, HEAD']);
    expect(body).toContain('"method_not_allowed"');
  });

  it('are not there when the demo is off, nor is its push', async () => {
    const without = await startTestService({ DEMO_ENABLED: 'false', DATABASE_URL: service.databaseUrl });
    try {
      for (const path of ['/', '/callback', '/demo/demo.js', '/latchkey-client/index.js'])
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

  it.each(['', 'device.renamed', 'xdemo.hello', 'demo.a b', `demo.${'x'.repeat(65)}`])(
    'refuses the event name "%s"',
    async (event) => {
      const { access_token } = await signInAtStub(service.url);
      const { status, body } = await bearer(service.url, access_token).post('/demo/push').send({ event });
      expect([status, (body as { error: string }).error]).toEqual([400, 'invalid_request']);
    },
  );

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
      // The page is, with a provider that there is: the sample provider is off.
      await request(production.url).get('/').expect(302).expect('Location', './?provider=stub');
      await request(production.url).get('/?provider=stub').expect(200);
    } finally {
      await production.close();
    }
  });
});

inChromium('signing in at the demo', () => {
  const { page } = useVisitors();

  /** All steps but the refresh. */
  const LIT = ['done', 'done', 'done', 'done', 'done', 'done', null];

  it('signs in through the frame, after a wrong password, and lights each step as it happens', async () => {
    await page.goto(service.url);
    expect(await steps(page)).toEqual([null, null, null, null, null, null, null]);
    await signInButton(page).click();
    await provider(page).getByLabel('Password').waitFor();
    expect(await steps(page)).toEqual(['done', 'active', null, null, null, null, null]);

    await submit(provider(page), 'ada', 'wrong');
    expect(await provider(page).getByRole('alert').textContent()).toContain('is not right');
    const exchange = page.waitForRequest('**/oauth2/token');
    await submit(provider(page), 'ada', 'analytical-engine');
    await isSignedIn(page);
    expect(await steps(page)).toEqual(LIT);
    expect(await page.locator('#steps .fact').nth(3).textContent()).toMatch(/^200, \d+ ms$/);
    expect(await page.locator('#requests').textContent()).toContain('POST /oauth2/token');

    const sent = (await exchange).postDataJSON() as Record<string, string>;
    expect(sent['code_verifier']).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(await page.locator('#email').textContent()).toBe('ada@example.com');
    expect(await page.getByRole('timer').textContent()).toMatch(/^(60:00|59:5\d)$/);
    await page.getByText('Ids, and all that').click();
    const claims = await page.getByRole('table').textContent();
    for (const part of [sent['device_id']!, service.settings.publicUrl]) expect(claims).toContain(part);
  });

  it('signs in by a redirect of the whole tab', async () => {
    await page.goto(service.url);
    await page.getByRole('button', { name: 'in this tab' }).click();
    await page.waitForURL('**/providers/mock/oauth2/authorize?**');
    await submit(page, 'grace', 'first-compiler');
    await isSignedIn(page, 'Grace Hopper');
    expect(page.url()).toBe(`${service.url}/`);
    expect(await steps(page)).toEqual(LIT);
  });

  it('signs in at a provider of another site, in a frame of that site, as the second device that the page offers', async () => {
    await signIn(page, service.url);
    const opened = page.waitForEvent('popup');
    await page.getByRole('link', { name: 'Open a second device' }).click();
    const second = await opened; // its dialog opens automatically
    expect(new URL(second.url()).hostname).toBe('127.0.0.1');
    await provider(second).getByRole('button', { name: 'Ada' }).click();
    await isSignedIn(second);
    expect(new URL(second.url()).hash).toBe('');
    await devices(page)
      .getByRole('button', { name: /^Sign out/ })
      .first()
      .waitFor();
  });

  describe("the provider's page", () => {
    const address = (): string => {
      const redirect_uri = `${service.url}/callback`;
      const asked = new URLSearchParams({ client_id: 'latchkey', redirect_uri, state: 'a b+c' });
      return `${service.url}/providers/mock/oauth2/authorize?${asked.toString()}`;
    };
    const arrival = async (): Promise<URLSearchParams> => {
      const sent = await page.waitForRequest((asked) => asked.url().startsWith(`${service.url}/callback?`));
      return new URL(sent.url()).searchParams;
    };

    it('signs in inside a frame that may do nothing but submit forms', async () => {
      const src = address().replaceAll('&', '&amp;');
      const body = `<iframe width="420" height="560" sandbox="allow-forms" src="${src}"></iframe>`;
      await page.route(`${service.url}/around`, (route) => route.fulfill({ contentType: 'text/html', body }));
      await page.goto(`${service.url}/around`);
      const frame = page.frameLocator('iframe');
      const [back] = await Promise.all([arrival(), submit(frame, 'ada', 'analytical-engine')]);
      expect(back.get('code')).toMatch(/^[A-Za-z0-9_-]{43}$/);
    });

    it('shows the password, posts once, says so meanwhile, and asks for the password after an error', async () => {
      let posts = 0;
      page.on('request', (sent) => (posts += sent.method() === 'POST' ? 1 : 0));
      await page.goto(address());
      const show = page.getByRole('button', { name: 'Show password', pressed: false });
      await page.getByLabel('User name').fill('ada');
      await page.getByLabel('Password').fill('wrong');
      await show.click();
      expect(await page.getByLabel('Password').getAttribute('type')).toBe('text');
      await page.getByRole('button', { name: 'Show password', pressed: true }).waitFor();

      await page.evaluate(`(() => {
        const [form, button, show, password] =
          ['form', '#submit', '#show', '#password'].map((one) => document.querySelector(one));
        addEventListener('pagehide', () => {
          const seen = [button.textContent, button.disabled, show.disabled, password.type];
          sessionStorage.setItem('seen', seen.join());
        });
        form.requestSubmit(button);
        form.requestSubmit(button);
      })()`);
      await page.getByRole('alert').waitFor();
      expect(posts).toBe(1);
      expect(await page.evaluate(`sessionStorage.getItem('seen')`)).toBe('Signing in…,true,true,password');
      expect(await page.evaluate('document.activeElement.id')).toBe('password');
    });
  });
});
