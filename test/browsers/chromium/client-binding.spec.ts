import type { BrowserContext, Page } from 'playwright-core';
import { BoundApp } from '../../support/bound-app.js';
import { inChromium } from '../../support/chromium.js';
import { ClientKey } from '../../support/dpop.js';

/** How often a thief tries, in each of two ways. */
const TRIES = 50;
/** Whatever the code of IndexedDB, here is one way for it to fail. */
const OPEN_FAILS = `IDBFactory.prototype.open = () => {
  const opening = new EventTarget();
  queueMicrotask(() => opening.dispatchEvent(new Event('error')));
  return opening;
};`;

inChromium('the client binds a session to its browser', () => {
  let world: BoundApp;
  let context: BrowserContext;

  beforeAll(async () => {
    world = await BoundApp.start();
  });
  afterAll(() => world?.close());
  beforeEach(async () => {
    context = await world.newDevice();
  });
  afterEach(() => context.close());

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

  it('with a key that is stored before the code is exchanged, and that no script can read', async () => {
    const page = await world.open(context);
    let before: string[] = [];
    await page.route('**/oauth2/token', async (route) => {
      before = await names(page);
      await route.continue();
    });
    await page.evaluate('latchkey.signIn()');
    expect(await bound(page)).toBe(true);
    const { binding } = await world.stored(page);
    expect(binding).toEqual({ issuer: world.front.url, key: before[0] });
    expect(await names(page)).toEqual(before);
    // A structured clone of the key pair itself comes back from `evaluate` as an empty object, so the page looks at it.
    expect(
      await page.evaluate(`new Promise((resolve) => {
        const opening = indexedDB.open('latchkey:${world.front.url}');
        opening.onsuccess = () => {
          const asked = opening.result.transaction('keys').objectStore('keys').get('${before[0]}');
          asked.onsuccess = async () => {
            opening.result.close();
            const { privateKey } = asked.result;
            const exported = ['pkcs8', 'jwk'].map((format) =>
              crypto.subtle.exportKey(format, privateKey).then(() => format, ({ name }) => name));
            resolve([privateKey.extractable, privateKey.algorithm.namedCurve, ...(await Promise.all(exported))]);
          };
        };
      })`),
    ).toEqual([false, 'P-256', 'InvalidAccessError', 'InvalidAccessError']);
    expect(await attempt(page)).toBe('done');
  });

  it('and removes the key with the session: at a sign-out, after a failure', async () => {
    const page = await world.signIn(context);
    expect(await names(page)).toHaveLength(1);
    await page.evaluate('latchkey.signOut()');
    expect(await names(page)).toEqual([]);

    await page.route('**/oauth2/token', (route) => route.abort());
    await page.evaluate('void latchkey.signIn().catch(() => 0)');
    await page.getByRole('alert').waitFor();
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

  it('and keeps its key where the client is closed during the exchange', async () => {
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

  it('and signs out at once where its token is due, and a refresh is not answered', async () => {
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

  it('and the one that it has just made, also where the clock of the device is behind all others', async () => {
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

  it(`so that a copy of its storage refreshes nothing, ${2 * TRIES} times, and the owner goes on`, async () => {
    const owner = await world.signIn(context);
    await owner.waitForFunction('latchkey.session.username'); // the last thing that is stored of a sign-in
    const { refresh_token } = await world.stored(owner);
    const state = await context.storageState();
    const elsewhere = await world.newDevice({ storageState: state });
    await elsewhere.addInitScript(`Object.defineProperty(navigator, 'locks', { value: undefined })`); // all at once
    const thief = await world.open(elsewhere);
    expect(await world.stored(thief)).toEqual(await world.stored(owner));

    // The thief's client, with the copy in a storage of its own each time.
    const asked: string[] = [];
    elsewhere.on('request', (sent) => asked.push(new URL(sent.url()).pathname));
    await world.age(thief);
    const outcomes: string[] = await thief.evaluate(`(async () => {
      const { createClient } = await import('/latchkey-client/index.js');
      const record = localStorage.getItem('latchkey:${world.front.url}');
      const attempts = Array.from({ length: ${TRIES} }, () => {
        const values = new Map([['latchkey:${world.front.url}', record]]);
        const storage = { getItem: (key) => values.get(key) ?? null, setItem: (key, value) => values.set(key, value), removeItem() {} };
        const client = createClient({ url: '${world.front.url}', provider: 'stub', redirectUri: '/callback', storage, askAgain: false });
        let reason;
        client.on('signedOut', (ended) => (reason = ended.reason));
        return client.accessToken().then(() => 'stolen', ({ code }) => code + ' ' + reason).finally(() => client.close());
      });
      return Promise.all(attempts);
    })()`);
    expect(outcomes).toEqual(Array<string>(TRIES).fill('signed_out key_lost'));
    await thief.getByRole('alert').getByText('The key of your session is missing in this browser').waitFor();
    expect(await world.signedOut(thief)).toMatchObject([{ reason: 'key_lost' }]);
    expect(asked.filter((path) => !/latchkey-client|providers$/.test(path))).toEqual([]); // nobody was told, nothing was ended

    // And what a thief would do by hand: without a proof, with a key of his own, at both endpoints.
    const key = new ClientKey();
    const refused = await Promise.all(
      Array.from({ length: TRIES }, async (_, n) => {
        const path = n % 2 ? '/oauth2/refresh' : '/oauth2/token';
        const answer = await fetch(world.service.url + path, {
          method: 'POST',
          headers: {
            'Content-Type': 'application/json',
            ...(n % 3 && { DPoP: key.proof(world.front.url + path) }),
          },
          body: JSON.stringify({ grant_type: 'refresh_token', refresh_token }),
        });
        return `${answer.status} ${((await answer.json()) as { error?: string }).error}`;
      }),
    );
    expect(refused).toEqual(Array<string>(TRIES).fill('400 invalid_dpop_proof'));

    expect(await attempt(owner)).toBe('done');
    expect(await world.signedOut(owner)).toEqual([]);
    await elsewhere.close();
  });

  it.each([
    ['IndexedDB is missing', `delete Window.prototype.indexedDB; delete window.indexedDB`],
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
    [
      'it has no room',
      `const { add } = IDBObjectStore.prototype;
       IDBObjectStore.prototype.add = function (...all) { const asked = add.apply(this, all); this.transaction.abort(); return asked; }`,
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

  it('nor where the service knows of no proofs', async () => {
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

  it('and waits where IndexedDB fails later on; only a key that is absent ends the session', async () => {
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
    await page.reload();
    await page.waitForFunction(`of('signedOut').length`);
    expect(await world.signedOut(page)).toEqual([
      {
        reason: 'key_lost',
        message: 'The key of your session is missing in this browser. Please sign in again.',
      },
    ]);
  });

  it('and goes on with a key that it has at hand when IndexedDB fails until the page is loaded again', async () => {
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
});
