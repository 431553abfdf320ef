import type { Frame, FrameLocator, Page } from 'playwright-core';
import { BoundApp } from '../bound-app.js';
import { inChromium } from '../../support/chromium.js';
import { prepare, use, useEach } from '../../support/use.js';

inChromium('the client signs in', () => {
  let page: Page;
  /** Bodies posted to the token endpoint. */
  let posted: Record<string, string>[];
  let violations: string[];

  const world = use(() => BoundApp.start());
  const app = prepare(() => world.app);
  const browser = prepare(() => world.browser);
  beforeEach(() => {
    [app.policy, app.reportedPolicy] = ['', ''];
  });
  const context = useEach(() => browser.newContext());
  beforeEach(async () => {
    posted = [];
    violations = [];
    context.on('request', (sent) => {
      if (sent.method() === 'POST' && sent.url().endsWith('/oauth2/token')) {
        posted.push(sent.postDataJSON() as Record<string, string>);
      }
    });
    page = await context.newPage();
    page.setDefaultTimeout(60_000);
    page.on('pageerror', (error) => violations.push(error.message));
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) violations.push(message.text());
    });
  });

  const open = (options: object = {}): Promise<unknown> =>
    page.goto(`${app.url}/?options=${encodeURIComponent(JSON.stringify(options))}`);
  const provider = (): FrameLocator => page.frameLocator('iframe');
  const dialog = () => page.getByRole('dialog');
  const signedIn = (): Promise<void> => page.getByText('signed in as').waitFor();
  const begun = (): Promise<{ state: string; verifier: string }> =>
    page.evaluate(`JSON.parse(sessionStorage.getItem('latchkey:${app.service}:sign-in'))`);

  async function submit(where: FrameLocator | Page): Promise<void> {
    await where.getByLabel('User name').fill('ada');
    await where.getByLabel('Password').fill('analytical-engine');
    await where.getByRole('button', { name: 'Sign in' }).click();
  }

  it('in a frame of another site, under a strict policy, and stores the session', async () => {
    app.policy = `default-src 'self'; connect-src ${app.service}; frame-src *; style-src 'none'`;
    await open();
    await page.click('#in');
    await provider().getByLabel('Password').waitFor();
    const { state, verifier } = await begun();
    await submit(provider());
    await signedIn();

    const [body] = posted;
    expect(posted).toHaveLength(1);
    expect(body).toMatchObject({ state, code_verifier: verifier, redirect_uri: `${app.url}/callback` });
    expect(body!['device_id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(body!['device_name']).toBe('Chrome on Linux');
    expect(verifier).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(await begun()).toBeNull();
    expect(await page.evaluate(`of('progress')`)).toEqual([
      'authorize',
      'provider',
      'callback',
      'exchange',
      'signed-in',
    ]);
    expect(await page.evaluate(`latchkey.session.deviceId`)).toBe(body!['device_id']);
    expect(JSON.stringify(await page.evaluate('seen'))).not.toMatch(/lkr_|eyJ/);
    expect(violations).toEqual([]);
  });

  it('says that it failed, on a loopback host with the details, and lets the user try again', async () => {
    const warnings: string[] = [];
    page.on('console', (message) => message.type() === 'warning' && warnings.push(message.text()));
    const refusal = { error: 'invalid_grant', error_description: 'the code is no good' };
    await page.route('**/oauth2/token', (route) => route.fulfill({ status: 401, json: refusal }), {
      times: 1,
    });
    await open();
    await page.click('#in');
    await submit(provider());
    await page.getByRole('alert').getByText('Signing in did not work').waitFor();
    await dialog().getByText('invalid_grant · the code is no good · HTTP 401', { exact: true }).waitFor();
    expect(await dialog().textContent()).not.toContain(posted[0]!['code']);
    expect(warnings).toEqual([
      'Latchkey: signing in failed, see docs/errors.md: invalid_grant (the code is no good)',
    ]);
    await page.getByRole('button', { name: 'Try again' }).click();
    await submit(provider());
    await signedIn();
    expect(new Set(posted.map(({ state }) => state)).size).toBe(2); // a retry is a new authorization
  });

  it('offers a window at once if the page forbids the frame', async () => {
    app.policy = `default-src 'self'; connect-src *; frame-src 'none'`;
    await open();
    await page.click('#in');
    const [popup] = await Promise.all([
      page.waitForEvent('popup'),
      page.getByRole('alert').locator('..').getByRole('button', { name: 'Open in a new window' }).click(),
    ]);
    await submit(popup);
    await signedIn();
  });

  it('shows the frame under a report-only policy that forbids it', async () => {
    app.reportedPolicy = `frame-src 'none'`;
    await open();
    await page.evaluate(`addEventListener('securitypolicyviolation', () => (window.isReported = true))`);
    await page.click('#in');
    await page.waitForFunction('window.isReported');
    await submit(page.frameLocator('iframe'));
    await signedIn();
  });

  it('a callback that was used does nothing while the session lives, and is refused after it', async () => {
    await open();
    await page.click('#in');
    await submit(page.frameLocator('iframe'));
    await signedIn();
    const [{ state, code }] = posted as [{ state: string; code: string }];
    const again = (): Promise<unknown> =>
      page.evaluate(`(async () => {
        history.replaceState(null, '', '/callback?code=${code}&state=${state}');
        const { createClient } = await import('/latchkey-client/index.js');
        const client = createClient({ url: '${app.service}', provider: 'mock', redirectUri: '/callback' });
        return client.handleCallback().then(() => 'done', ({ code }) => code);
      })()`);
    expect(await again()).toBe('done');
    expect(await page.evaluate('!!latchkey.session')).toBe(true);
    expect(page.url()).not.toContain('code=');
    await page.evaluate('latchkey.signOut()');
    expect(await again()).toBe('invalid_state');
    expect(posted).toHaveLength(1);
  });

  describe('and is not fooled', () => {
    const FOREIGN = '0f'.repeat(32);

    it('by a foreign state during a redirect, and the redirect continues', async () => {
      await open({ mode: 'redirect' });
      await page.click('#in');
      await page.getByLabel('Password').waitFor();
      const authorization = page.url();
      await page.goto(`${app.url}/callback?code=stolen&state=${FOREIGN}`);
      await page.getByText('invalid_state').waitFor();
      expect(posted).toEqual([]);
      await page.goto(authorization);
      await submit(page);
      await page.waitForFunction('window.latchkey?.session');
    });

    it('by a foreign state in its own frame', async () => {
      await open();
      await page.click('#in');
      await provider().getByLabel('Password').waitFor();
      const frame = page.frames().at(-1) as Frame;
      await frame.goto(`${app.url}/callback?code=stolen&state=${FOREIGN}`).catch(() => undefined);
      await page.getByRole('alert').getByText('perhaps because it took too long').waitFor();
      expect(posted).toEqual([]);
      await page.getByRole('button', { name: 'Try again' }).click();
      await submit(provider());
      await signedIn();
    });

    it('by the right state from a foreign origin, or from another window', async () => {
      await open();
      await page.click('#in');
      await provider().getByLabel('Password').waitFor();
      const query = { code: 'forged', state: (await begun()).state };
      const message = JSON.stringify({ type: 'latchkey:callback', query });
      const frame = page.frames().at(-1) as Frame;
      await frame.evaluate(`parent.postMessage(${message}, '*')`); // the frame, but the provider's origin
      await page.evaluate(`postMessage(${message}, '*')`); // our origin, but no frame of ours
      await page.evaluate('new Promise((resolve) => setTimeout(resolve))');
      expect(posted).toEqual([]);
      await submit(provider());
      await signedIn();
    });

    it('into posting the code to a page of another origin', async () => {
      const callback = `${app.url}/callback?code=secret&state=${FOREIGN}`;
      await page.goto(`${app.foreignUrl}/stranger?frame=${encodeURIComponent(callback)}`);
      await page.waitForFunction('document.querySelector("iframe")');
      const frame = page.frames().at(-1) as Frame;
      await frame.waitForURL(`${app.url}/callback`); // it has done its work: the address is clean
      await page.evaluate('new Promise((resolve) => setTimeout(resolve, 50))');
      expect(await page.evaluate('heard')).toEqual([]);
    });
  });
});
