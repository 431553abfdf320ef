import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { BoundApp } from '../bound-app.js';
import { inChromium } from '../../support/chromium.js';
import { startServiceProcess } from '../../support/service-process.js';
import { use, useEach } from '../../support/use.js';

const PRELOAD = fileURLToPath(new URL('../../support/skewed-clock.mjs', import.meta.url));

/** Makes every use of IndexedDB fail. */
const OPEN_FAILS = `IDBFactory.prototype.open = () => {
  const opening = new EventTarget();
  queueMicrotask(() => opening.dispatchEvent(new Event('error')));
  return opening;
};`;

inChromium('the client binds a session to its browser', () => {
  const world = use(() => BoundApp.start());
  const context = useEach(() => world.newDevice());

  const bound = (page: Page): Promise<boolean> => page.evaluate('latchkey.session.bound');
  const names = (page: Page): Promise<string[]> => world.keys(page, 'getAllKeys()');

  /** Puts more keys into the store than are kept. @param from the age of the oldest, as in a name */
  const fill = (page: Page, from: number): Promise<void> =>
    world.keys(
      page,
      `put({}, '${from}-other'); const store = asked.source;
      for (let n = 1; n < 1050; n++) store.put({}, (${from} + n) + '-other')`,
    );

  /** An attempt to refresh; the code of its failure. */
  async function attempt(page: Page): Promise<string> {
    await world.age(page);
    return page.evaluate(`latchkey.accessToken().then(() => 'done', ({ code }) => code)`);
  }

  it('stores the key before the exchange, and removes it after a failed one', async () => {
    const page = await world.open(context);
    let before: string[] = [];
    await page.route('**/oauth2/token', async (route) => {
      before = await names(page);
      await route.abort();
    });
    await page.evaluate('void latchkey.signIn().catch(() => 0)');
    await page.getByRole('alert').waitFor();
    expect(before).toHaveLength(1);
    expect(await names(page)).toEqual([]);
  });

  it('in two tabs that sign in at once: both go on with the session that came last', async () => {
    const tabs = [await world.open(context), await world.open(context)];
    await Promise.all(tabs.map((tab) => tab.evaluate('latchkey.signIn()')));
    await world.age(tabs[0]!);
    await Promise.all(tabs.map((tab) => world.refreshed(tab)));
    const [token, other] = await Promise.all(tabs.map((tab) => tab.evaluate('latchkey.accessToken()')));
    expect(other).toBe(token);
    expect(await names(tabs[0]!)).toContain((await world.stored(tabs[0]!)).binding!.key);
    expect(await Promise.all(tabs.map((tab) => world.signedOut(tab)))).toEqual([[], []]);
  });

  it('and keeps its key if the client is closed during the exchange', async () => {
    const page = await world.open(context);
    await page.route('**/oauth2/token', async (route) => {
      await page.evaluate('latchkey.close()');
      await route.continue();
    });
    await page.evaluate('latchkey.signIn()');
    await page.reload();
    expect(await attempt(page)).toBe('done');
    expect(await world.signedOut(page)).toEqual([]);
  });

  it('and signs out at once, though its token is due and a refresh gets no answer', async () => {
    const page = await world.signIn(context);
    await page.route('**/oauth2/refresh', () => undefined);
    const sent = page.waitForResponse(
      (answer) => answer.url().endsWith('/sign-out') && answer.status() === 204,
    );
    await page.evaluate(`{
      const key = 'latchkey:${world.front.url}';
      const held = JSON.parse(localStorage.getItem(key));
      const received_at = held.received_at - (held.expires_in - 60) * 1000;
      localStorage.setItem(key, JSON.stringify({ ...held, received_at }));
      dispatchEvent(new StorageEvent('storage', { key }));
      void latchkey.signOut();
    }`);
    await page.waitForFunction('!latchkey.session', undefined, { timeout: 2000 });
    await sent;
  });

  it('and keeps the newest thousand keys', async () => {
    const page = await world.signIn(context);
    const { binding } = await world.stored(page);
    await fill(page, 1_000_000_000);
    const other = await world.signIn(context, { storage: 'sessionStorage' });
    const left = await names(other);
    expect(left).toHaveLength(1000);
    expect(left).toContain(binding!.key);
    expect(await attempt(page)).toBe('done');
  });

  it('and the newest key, even if the clock of the device is behind', async () => {
    const page = await world.signIn(context);
    await fill(page, 4_000_000_000);
    await page.evaluate('latchkey.signIn()');
    await page.reload();
    expect(await attempt(page)).toBe('done');
    expect(await world.signedOut(page)).toEqual([]);
  });

  it('and lets the service say to a duplicate of a tab that its session is over', async () => {
    const page = await world.signIn(context, { storage: 'sessionStorage' });
    const record = await page.evaluate(`sessionStorage.getItem('latchkey:${world.front.url}')`);
    const duplicate = await context.newPage();
    await duplicate.addInitScript(
      `sessionStorage['latchkey:${world.front.url}'] ??= ${JSON.stringify(record)}`,
    );
    await duplicate.goto(page.url());
    expect(await bound(duplicate)).toBe(true);
    await page.evaluate('latchkey.signOut()');
    await duplicate.waitForFunction(`of('signedOut').length`);
    expect(await world.signedOut(duplicate)).toMatchObject([{ reason: 'refused' }]);
  });

  it.each([
    [
      'it is forbidden',
      `IDBFactory.prototype.open = () => { throw new DOMException('no', 'SecurityError'); }`,
    ],
    ['it fails', OPEN_FAILS],
    ['it never answers', `IDBFactory.prototype.open = () => new EventTarget()`],
    [
      'it stores no keys',
      `IDBObjectStore.prototype.add = () => { throw new DOMException('', 'DataCloneError'); }`,
    ],
    ['keys cannot be made', `SubtleCrypto.prototype.generateKey = () => Promise.reject(new Error())`],
  ])('unless %s: then the session is unbound, and says so', async (_why, script) => {
    await context.addInitScript(script);
    await context.clock.install();
    const page = await world.open(context);
    const exchanged = page.waitForResponse('**/oauth2/token');
    const signedIn = page.evaluate('latchkey.signIn()');
    await page.waitForFunction(`of('progress').includes('exchange')`);
    await context.clock.fastForward(3000);
    await signedIn;
    expect((await exchanged).request().headers()['dpop']).toBeUndefined();
    expect(await bound(page)).toBe(false);
    expect(await attempt(page)).toBe('done');
  });

  it('nor if the service does not support proofs', async () => {
    const page = await world.open(context);
    await page.route(`${world.front.url}/oauth2/authorize?**`, async (route) => {
      const answer = await route.fetch();
      const { issuer: _, ...older } = (await answer.json()) as Record<string, string>;
      await route.fulfill({ response: answer, json: older });
    });
    await page.evaluate('latchkey.signIn()');
    expect(await bound(page)).toBe(false);
    expect(await page.evaluate('indexedDB.databases()')).toEqual([]);
    expect(await attempt(page)).toBe('done');
  });

  it('and waits if IndexedDB fails later; only an absent key ends the session', async () => {
    const page = await world.signIn(context);
    const [name] = await names(page);
    await page.addInitScript(`if (sessionStorage.fails) { ${OPEN_FAILS} }`);
    await page.evaluate(`sessionStorage.fails = 'yes'`);
    await page.reload();
    expect(await attempt(page)).toBe('key_unavailable');
    await page.evaluate(`sessionStorage.removeItem('fails')`);
    await page.reload();
    await world.refreshed(page);
    expect(await world.signedOut(page)).toEqual([]);

    await world.keys(page, `put(null, '${name}')`); // so some browsers read what they cannot decrypt
    await page.reload();
    expect(await attempt(page)).toBe('key_unavailable');

    await world.keys(page, `delete('${name}')`);
    const { refresh_token } = await world.stored(page);
    const revoked = page.waitForRequest('**/oauth2/revoke');
    await page.reload();
    await page.waitForFunction(`of('signedOut').length`);
    expect((await revoked).postDataJSON()).toEqual({ token: refresh_token, reason: 'key_lost' });
    expect(await world.signedOut(page)).toEqual([
      {
        reason: 'key_lost',
        message: 'The key of your session is missing in this browser. Please sign in again.',
      },
    ]);
  });

  it('and ends it if the storage of all tabs is emptied', async () => {
    const page = await world.signIn(context);
    await world.signIn(context, { storage: 'sessionStorage' }); // another session
    const { access_token, refresh_token } = await world.stored(page);
    const revoked = page.waitForRequest('**/oauth2/revoke');
    await (await world.open(context)).evaluate('localStorage.clear()');
    const request = await revoked;
    expect(request.postDataJSON()).toEqual({ token: refresh_token, reason: 'storage_lost' });
    expect((await request.response())!.status()).toBe(200);
    const headers = { Authorization: `Bearer ${access_token}` };
    expect((await fetch(`${world.front.url}/me`, { headers })).status).toBe(401);
  });

  it('and continues with the key in memory if IndexedDB fails until a reload', async () => {
    const page = await world.signIn(context);
    await page.evaluate(OPEN_FAILS);
    expect(await attempt(page)).toBe('done');
  });

  it('and ends the session at the provider, if that has an address for it', async () => {
    const page = await world.signIn(context);
    const asked = page.waitForRequest('**/sign-out');
    await page.route('**/sign-out', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({
        status: 200,
        headers: { 'Access-Control-Allow-Origin': '*' },
        json: { redirect_url: `${world.app.foreignUrl}/stranger` },
      });
      expect(answer.status()).toBe(204);
    });
    await page.evaluate(`void latchkey.signOut({ provider: true, redirectUri: '/bye' })`);
    await page.waitForURL(`${world.app.foreignUrl}/stranger`);
    expect((await asked).postDataJSON()).toEqual({
      provider_logout: { redirect_uri: `${world.app.url}/bye` },
    });
    await page.goto(`${world.app.url}/?options=%7B%7D`);
    expect(await page.evaluate('latchkey.session')).toBeUndefined();
  });

  it.each([
    ['no address', undefined],
    ['a script', 'javascript:document.title="run"'],
  ])('and stays where it is when the service answers %s', async (_what, redirect_url) => {
    const page = await world.signIn(context);
    if (redirect_url)
      await page.route('**/sign-out', (route) =>
        route.fulfill({ headers: { 'Access-Control-Allow-Origin': '*' }, json: { redirect_url } }),
      );
    await page.evaluate(`latchkey.signOut({ provider: true })`);
    expect(await world.signedOut(page)).toEqual([{ reason: 'user', message: '' }]);
    expect(await page.title()).toBe('App');
    expect(page.url()).toContain('?options=');
  });

  describe('and goes on with instances whose clocks differ', () => {
    afterAll(() => (world.front.instances = [world.service.url]));
    /** Another instance, with a clock 90 s ahead; requests go to both in turn. */
    const skewed = use(
      () =>
        startServiceProcess({
          ...world.provider.env(),
          PUBLIC_URL: world.front.url,
          DATABASE_URL: world.service.databaseUrl,
          NODE_OPTIONS: `--import ${PRELOAD}`,
          CLOCK_SKEW_MS: '90000',
        }),
      (one) => one.end('SIGTERM'),
    );
    beforeAll(() => {
      world.front.instances = [world.service.url, skewed.url];
    });

    /** What the service answered to the refreshes of a tab, and to its sign-in. */
    const answers = (page: Page): Promise<(number | undefined)[]> =>
      page.evaluate(
        `of('request').filter(({ path }) => /refresh|token/.test(path)).map(({ status }) => status)`,
      );

    async function refresh(page: Page): Promise<void> {
      await world.age(page);
      await world.refreshed(page);
    }

    it.each([-120, 120])(
      'on a device whose clock is %i s off, with one more proof at most',
      async (seconds) => {
        await context.clock.install({ time: Date.now() + seconds * 1000 });
        const page = await world.signIn(context);
        expect(await page.evaluate('latchkey.session.bound')).toBe(true);
        await refresh(page);
        await refresh(page);
        expect(await answers(page)).toEqual([200, 200, 200]); // the time came with the answer to authorize
        await page.reload();
        await refresh(page);
        await refresh(page);
        expect(await answers(page)).toEqual([400, 200, 200]);
      },
    );

    it('when the browser itself sends a refresh again, because a connection broke', async () => {
      const page = await world.signIn(context);
      await refresh(page);
      // The profile, which loads in the background: a refresh beside it uses a new connection, and browsers do not repeat that.
      await page.waitForFunction(`of('request').some(({ path }) => path === '/me')`);
      world.front.seen.length = 0;
      world.front.lost = 1;
      await refresh(page);
      expect(await answers(page)).toEqual([200, 200, 400, 200]);
      expect(world.front.seen.filter((call) => call === 'POST /oauth2/refresh')).toHaveLength(3);
    });

    it('in a service worker, where there is no document', async () => {
      const page = await world.signIn(context);
      await world.age(page);
      expect(await inWorker(page)).toMatch(/"access_token":"eyJ.*"key":"/);
    });

    /** Passes the stored session to a service worker. */
    function inWorker(page: Page): Promise<string> {
      return page.evaluate(`(async () => {
        navigator.serviceWorker.register('/worker.js', { type: 'module' });
        const { active } = await navigator.serviceWorker.ready;
        const { port1, port2 } = new MessageChannel();
        const answer = new Promise((resolve) => (port1.onmessage = ({ data }) => resolve(data)));
        active.postMessage(localStorage.getItem('latchkey:${world.front.url}'), [port2]);
        return answer;
      })()`);
    }
  });
});
