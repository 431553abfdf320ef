import type { Page } from 'playwright-core';
import request from 'supertest';
import { BoundApp } from '../bound-app.js';
import { inChromium } from '../../support/chromium.js';
import { prepare, use, useEach } from '../../support/use.js';

inChromium('the client keeps a session', () => {
  /** Answers to refreshes; a clock that was put forward costs one more, which refuses the proof (400). */
  let refreshes: number;

  const world = use(() => BoundApp.start());
  const app = prepare(() => world.app);
  const browser = prepare(() => world.browser);
  const context = useEach(() => browser.newContext());
  beforeEach(async () => {
    context.setDefaultTimeout(60_000);
    await context.clock.install();
    refreshes = 0;
    context.on('response', (answer) => {
      const asked = answer.request();
      const isRefresh = asked.method() === 'POST' && asked.url().endsWith('/oauth2/refresh');
      if (isRefresh && answer.status() !== 400) refreshes++;
    });
  });

  async function open(options: object = {}): Promise<Page> {
    const page = await context.newPage();
    await page.goto(`${app.url}/?options=${encodeURIComponent(JSON.stringify(options))}`);
    return page;
  }

  async function signIn(options: object = {}): Promise<Page> {
    const page = await open(options);
    await page.click('#in');
    await submit(page);
    await page.getByText('signed in as').waitFor();
    return page;
  }

  async function submit(page: Page): Promise<void> {
    await page.bringToFront(); // a frame of another site does not get every key and click in a tab behind
    const provider = page.frameLocator('iframe');
    await provider.getByLabel('User name').fill('ada');
    await provider.getByLabel('Password').fill('analytical-engine');
    await provider.getByLabel('Password').press('Enter'); // a click may miss: the frame moves up when it has loaded
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }

  const signedOut = (page: Page): Promise<unknown[]> => page.evaluate(`of('signedOut')`);
  const token = (page: Page): Promise<string> => page.evaluate('latchkey.accessToken()');
  const stored = (page: Page): Promise<{ access_token: string; refresh_token: string }> =>
    page.evaluate(`JSON.parse(localStorage.getItem('latchkey:${app.service}'))`);
  const dialogSays = (page: Page, text: string): Promise<void> =>
    page.getByRole('alert').getByText(text).waitFor();

  it('loads the profile once; after a failure again at the next start', async () => {
    let asked = 0;
    await context.route('**/me', async (route) => {
      asked++;
      await (asked === 1 ? route.abort() : route.continue());
    });
    const first = await signIn();
    const isSame = 'latchkey.session === latchkey.session';
    expect(await first.evaluate(isSame)).toBe(true);
    await first.waitForFunction(`of('request').some(({ path }) => path === '/me')`);
    expect(await first.evaluate('latchkey.session.username')).toBeUndefined();

    const second = await open();
    await context.clock.fastForward('00:05');
    for (const page of [first, second]) {
      await page.waitForFunction(`latchkey.session.username === 'Ada Lovelace'`);
      const who = { username: 'Ada Lovelace', email: 'ada@example.com' };
      expect(await page.evaluate(`of('change').at(-1)`)).toMatchObject(who);
      expect(await page.evaluate(isSame)).toBe(true);
    }
    await first.reload();
    expect(await first.evaluate('latchkey.session.username')).toBe('Ada Lovelace');
    await context.clock.fastForward('00:05');
    expect(asked).toBe(2);
  });

  it('signs out in both tabs, with one event each, when the refresh is refused; and asks for a new login', async () => {
    const first = await signIn();
    const second = await open();
    await request(app.service)
      .post('/oauth2/revoke')
      .send({ token: (await stored(first)).refresh_token })
      .expect(200);
    await context.clock.fastForward('56:00');
    for (const page of [first, second]) {
      await dialogSays(page, 'Your session has ended');
      expect(await signedOut(page)).toEqual([
        { reason: 'refused', message: 'Your session has ended. Please sign in again.' },
      ]);
      expect(await page.evaluate('latchkey.session')).toBeUndefined();
    }
    expect(refreshes).toBe(1);
    expect(await stored(first)).toEqual({ reason: 'refused' });
    await first.getByRole('button', { name: 'Sign in' }).click();
    await submit(first);
    await second.getByRole('dialog').waitFor({ state: 'detached' }); // the user is signed in, so the dialog closes
    expect(await token(second)).toBe(await token(first));
  });

  it('notices changes of another tab by storage events alone', async () => {
    const deaf = await context.newPage();
    await deaf.addInitScript('delete globalThis.BroadcastChannel');
    await deaf.goto(`${app.url}/?options=%7B%7D`);
    const other = await signIn();
    await deaf.waitForFunction('latchkey.session');
    expect(await token(deaf)).toBe(await token(other));
    await other.evaluate('latchkey.signOut()');
    await deaf.waitForFunction('!latchkey.session');
  });

  it('asks for a login, with one session per tab, if another tab signs out this device', async () => {
    const options = { storage: 'sessionStorage' };
    const first = await signIn(options);
    const second = await signIn(options);
    expect(await token(first)).not.toBe(await token(second));
    await first.evaluate('latchkey.signOut()'); // of this device: both sessions
    await dialogSays(second, 'Your session has ended');
    expect(await second.evaluate('latchkey.session')).toBeUndefined();
  });
});
