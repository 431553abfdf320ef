import type { Browser, BrowserContext, Page } from 'playwright-core';
import request from 'supertest';
import { inChromium, launchChromium } from '../../support/chromium.js';
import { ClientApp } from '../../support/client-app.js';
import { watchLateness } from '../../support/lateness.js';
import { startTestService, type TestService } from '../../support/service.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

inChromium('the client keeps a session', () => {
  let service: TestService;
  let app: ClientApp;
  /** Between the pages and the service; it can cut the connection. */
  let line: TcpProxy;
  let browser: Browser;
  let context: BrowserContext;
  /** Answers to refreshes; a clock that was put forward costs one more, which refuses the proof (400). */
  let refreshes: number;

  beforeAll(async () => {
    service = await startTestService({ SERVICE_KEYS: 'k'.repeat(32) });
    line = await TcpProxy.before(service.url);
    app = await ClientApp.start();
    app.service = `http://localhost:${line.port}`;
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await app?.close();
    await line?.refuse();
    await service?.close();
  });
  beforeEach(async () => {
    await line.restore();
    context = await newDevice();
    await context.clock.install();
    refreshes = 0;
    context.on('response', (answer) => {
      const asked = answer.request();
      const isRefresh = asked.method() === 'POST' && asked.url().endsWith('/oauth2/refresh');
      if (isRefresh && answer.status() !== 400) refreshes++;
    });
  });
  afterEach(() => context.close());

  async function newDevice(): Promise<BrowserContext> {
    const made = await browser.newContext();
    made.setDefaultTimeout(60_000);
    return made;
  }

  async function open(on = context, options: object = {}): Promise<Page> {
    const page = await on.newPage();
    await page.goto(`${app.url}/?options=${encodeURIComponent(JSON.stringify(options))}`);
    return page;
  }

  async function signIn(on = context, options: object = {}): Promise<Page> {
    const page = await open(on, options);
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

  it('refreshes once for two tabs, 5 minutes before the end, and both go on with the same token', async () => {
    const first = await signIn();
    const second = await open();
    const before = await token(first);
    expect(await token(second)).toBe(before);
    await context.clock.fastForward('54:00');
    expect(refreshes).toBe(0);
    const changed = Promise.all(
      [first, second].map((page) =>
        page.waitForFunction(`latchkey.accessToken().then((now) => now !== '${before}')`),
      ),
    );
    await context.clock.fastForward('01:05');
    await changed;
    expect(await token(first)).toBe(await token(second));
    expect(refreshes).toBe(1);
    expect((await stored(first)).access_token).toBe(await token(first));
  });

  it('tells who is signed in, which it asks for once; and again at the next start, where that failed', async () => {
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

  it('survives waking up offline with an expired token, and recovers by itself', async () => {
    const page = await signIn();
    await line.refuse();
    await context.clock.fastForward('02:00:00');
    expect(await page.evaluate('latchkey.accessToken().catch(({ code }) => code)')).toBe('network');
    await page.reload(); // the tab may have been discarded, too
    await page.waitForFunction('window.latchkey');
    expect(await page.evaluate('latchkey.me().catch(({ code }) => code)')).toBe('network');
    expect(await page.evaluate('latchkey.session.userId')).toMatch(/-/);
    expect(await signedOut(page)).toEqual([]);

    await line.restore();
    const recovered = page.waitForFunction(`of('request').some(({ status }) => status === 200)`);
    await page.evaluate(`dispatchEvent(new Event('online'))`);
    await recovered;
    expect(await page.evaluate('latchkey.me()')).toMatchObject({ username: 'Ada Lovelace' });
    expect(await signedOut(page)).toEqual([]);
  });

  it('tries again after 5xx by itself, and signs nobody out', async () => {
    const page = await signIn();
    await page.route('**/oauth2/refresh', (route) => route.fulfill({ status: 503, json: {} }), { times: 3 });
    for (const answered of [1, 2, 3, 4]) {
      await context.clock.fastForward(answered === 1 ? '01:01:00' : '01:00');
      await page.waitForFunction(
        `of('request').filter(({ path }) => path.endsWith('/refresh')).length >= ${answered}`,
      );
      expect(await signedOut(page)).toEqual([]);
    }
    await page.waitForFunction(`of('request').at(-1).status === 200`);
  });

  it('signs out in both tabs, with one event each, when the refresh is refused; and asks for a new login', async () => {
    const first = await signIn();
    const second = await open();
    await request(service.url)
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

  it('learns of the other tab from the storage, too: the message may come before the change that it announces', async () => {
    const deaf = await context.newPage();
    await deaf.addInitScript('delete globalThis.BroadcastChannel');
    await deaf.goto(`${app.url}/?options=%7B%7D`);
    const other = await signIn();
    await deaf.waitForFunction('latchkey.session');
    expect(await token(deaf)).toBe(await token(other));
    await other.evaluate('latchkey.signOut()');
    await deaf.waitForFunction('!latchkey.session');
  });

  it('signs out in all tabs when one does, tells the service, and asks nobody to sign in again', async () => {
    const first = await signIn();
    const second = await open();
    const { refresh_token } = await stored(first);
    await Promise.all([second.evaluate('latchkey.connect()'), first.evaluate('latchkey.connect()')]);
    await first.evaluate('latchkey.signOut()');
    await second.waitForFunction(`of('signedOut').length`);
    for (const page of [first, second]) {
      expect(await signedOut(page)).toEqual([{ reason: 'user', message: '' }]);
      expect(await page.getByRole('dialog').count()).toBe(0);
    }
    await request(service.url).post('/oauth2/refresh').send({ refresh_token }).expect(401);
  });

  it('closes within a second, with the right words, when it is signed out on another device', async () => {
    const here = await signIn();
    const tab = await open(); // without a channel: the other tab tells it
    await here.evaluate('latchkey.connect()');
    const elsewhere = await newDevice();
    const other = await signIn(elsewhere);
    await other.evaluate(`latchkey.signOut('others')`);
    const [begun, lateness] = [Date.now(), watchLateness()];
    await dialogSays(here, 'You were signed out on this device');
    expect(Date.now() - begun).toBeLessThan(1000 + 10 * lateness());
    await dialogSays(tab, 'You were signed out on this device');
    for (const page of [here, tab]) {
      const message = 'You were signed out on this device. Please sign in again.';
      expect(await signedOut(page)).toEqual([{ reason: 'signed_out', message }]);
    }
    expect(await other.evaluate('latchkey.devices()')).toContainEqual(
      expect.objectContaining({ current: true, device_name: 'Chrome on Linux' }),
    );
    await elsewhere.close();
  });

  it('sends its token to listed origins only, and lets no redirect carry it further', async () => {
    const page = await signIn();
    const answer = (address: string): Promise<string> =>
      page.evaluate(`latchkey.fetch('${address}').then((response) => response.text())`);
    expect(await answer('/echo')).toBe(`Bearer ${await token(page)}`);
    expect(await answer(`${app.foreignUrl}/echo`)).toBe('no token');
    expect(await answer('/away')).toBe('no token');
  });

  it('asks when each tab has a session of its own, and another one ends', async () => {
    const options = { storage: 'sessionStorage' };
    const first = await signIn(context, options);
    const second = await signIn(context, options);
    expect(await token(first)).not.toBe(await token(second));
    await first.evaluate('latchkey.signOut()'); // of this device: both sessions
    await dialogSays(second, 'Your session has ended');
    expect(await second.evaluate('latchkey.session')).toBeUndefined();
  });

  it('keeps its channel over a cut line and over its token, with nothing lost or doubled', async () => {
    const page = await signIn();
    const push = (n: number) =>
      request(service.url)
        .post('/push')
        .auth('k'.repeat(32), { type: 'bearer' })
        .send({ user_id: userId, event: 'note', data: n })
        .expect(202);
    const userId: string = await page.evaluate('latchkey.session.userId');
    await page.evaluate(`latchkey.connect().then((channel) => {
      window.channel = channel; window.notes = []; window.infos = [];
      channel.on('note', (data) => notes.push(data));
      channel.on('ready', (info) => infos.push(info));
      channel.on('disconnect', (info) => infos.push(info));
    })`);
    await push(1);
    await page.waitForFunction('notes.length === 1');
    const asked = `of('request').filter(({ path }) => path === '/devices').length`;
    const burst = 'Promise.all(Array.from({ length: 20 }, () => latchkey.devices()))';
    const online = `.then((all) => all.flat().filter(({ current }) => current).every((device) => device.online))`;
    expect(await page.evaluate(burst + online)).toBe(true); // as the channel is, though the service may not know it yet
    expect(await page.evaluate(asked)).toBe(2);
    await line.refuse();
    await page.waitForFunction('!channel.connected');
    await push(2);
    await context.clock.fastForward('02:00:00'); // meanwhile the token has expired
    await line.restore();
    await page.evaluate(`dispatchEvent(new Event('online'))`);
    await page.waitForFunction('notes.length === 2');
    await push(3);
    await page.waitForFunction('notes.length === 3');
    expect(await page.evaluate('notes')).toEqual([1, 2, 3]);
    expect(await page.evaluate('infos')).toMatchObject([{ final: false }, { recovered: true }]);
    expect(refreshes).toBeGreaterThan(0);

    await page.evaluate('latchkey.signOut()');
    await page.waitForFunction('infos.length === 3');
    expect(await page.evaluate('infos.at(-1)')).toEqual({ final: true });
    expect(await page.evaluate('latchkey.connect().catch(({ code }) => code)')).toBe('signed_out');
  });
});
