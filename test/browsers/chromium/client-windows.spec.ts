import type { BrowserContext, Locator, Page } from 'playwright-core';
import { BoundApp } from '../../support/bound-app.js';
import { inChromium } from '../../support/chromium.js';

inChromium('the client signs in by a window of its own', () => {
  let world: BoundApp;
  let context: BrowserContext;
  /** `Cross-Origin-Opener-Policy` of the provider's page. */
  let policy: string;
  /** The states of the codes that were exchanged. */
  let exchanged: string[];

  beforeAll(async () => {
    world = await BoundApp.start({ PROVIDERS_STUB_MODE: 'popup' });
    const answer = world.provider.answer;
    world.provider.answer = (asked, response, raw) => {
      if (asked.method !== 'GET') return answer(asked, response, raw);
      const query = new URL(asked.path, world.provider.url).searchParams;
      const callback = `${query.get('redirect_uri')}?code=ada&amp;state=${query.get('state')}`;
      response.writeHead(200, { 'Content-Type': 'text/html', 'Cross-Origin-Opener-Policy': policy });
      response.end(`<title>Provider</title><a href="${callback}">Allow</a>`);
    };
  });
  afterAll(() => world?.close());
  beforeEach(async () => {
    [policy, world.app.openerPolicy, exchanged] = ['unsafe-none', '', []];
    context = await world.newDevice();
    context.on('request', (sent) => {
      if (sent.method() === 'POST' && sent.url().endsWith('/oauth2/token'))
        exchanged.push((sent.postDataJSON() as { state: string }).state);
    });
  });
  afterEach(() => context.close());

  const modeIsKnown = (page: Page): Promise<unknown> =>
    page.waitForFunction(
      `of('request').some(({ path, status }) => /providers$/.test(path) && status === 200)`,
    );
  /** A page whose client knows the mode already. */
  async function open(options: object = {}): Promise<Page> {
    const page = await world.open(context, options);
    await modeIsKnown(page);
    return page;
  }
  async function popupBy(click: Locator): Promise<Page> {
    const [popup] = await Promise.all([context.waitForEvent('page'), click.click()]);
    await popup.getByText('Allow').waitFor();
    return popup;
  }
  const enter = (page: Page): Promise<Page> => popupBy(page.locator('#in'));
  const button = (page: Page, name: string): Locator => page.getByRole('button', { name });
  const signedIn = (page: Page): Promise<void> => page.getByText('signed in as').waitFor();
  const alert = (page: Page, text: string): Promise<void> =>
    page.getByRole('alert').getByText(text).waitFor();
  const line = (): string => `latchkey:${world.front.url}:callback`;
  const stateOf = (popup: Page): string => new URL(popup.url()).searchParams.get('state')!;

  it('where the service says so, which is known before the click', async () => {
    const page = await open();
    const popup = await enter(page);
    expect(await popup.evaluate('!!opener')).toBe(true);
    await page.getByText('Please go on in the other window').waitFor();
    await popup.getByText('Allow').click();
    await signedIn(page);
    if (!popup.isClosed()) await popup.waitForEvent('close');
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await page.evaluate(`of('request').filter(({ path }) => /providers$/.test(path)).length`)).toBe(1);
    await page.reload();
    await page.waitForFunction('latchkey.session');
    expect(await page.evaluate(`of('request').map(({ path }) => path)`)).not.toContain('/oauth2/providers');
  });

  it('by another click, where the answer comes after the first one', async () => {
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    await context.route('**/oauth2/providers', (route) => released.then(() => route.continue()));
    const page = await world.open(context);
    await page.click('#in');
    await page.getByRole('status').getByText('One moment').waitFor({ state: 'attached' });
    release();
    await alert(page, 'has not opened yet');
    await (await popupBy(button(page, 'Open the window'))).getByText('Allow').click();
    await signedIn(page);
  });

  it.each([
    ['away', undefined],
    ['malformed', { providers: 'none' }],
    ['about another', { providers: [{ name: 'other', mode: 'popup' }, null] }],
    ['of a later version', { providers: [{ name: 'stub', mode: 'hologram' }] }],
  ])(
    'not where the answer is %s: then in a frame, from which a window can be opened',
    async (_what, json) => {
      await context.route('**/oauth2/providers', (route) => (json ? route.fulfill({ json }) : route.abort()));
      const page = await world.open(context);
      await page.click('#in');
      await page.frameLocator('iframe').getByText('Allow').waitFor();
      await (await popupBy(button(page, 'Open in a new window'))).getByText('Allow').click();
      await signedIn(page);
    },
  );

  it('not where the application says otherwise, and nothing is asked', async () => {
    const page = await world.open(context, { mode: 'iframe' });
    await page.click('#in');
    await page.frameLocator('iframe').getByText('Allow').click();
    await signedIn(page);
    expect(await page.evaluate(`of('request').map(({ path }) => path)`)).not.toContain('/oauth2/providers');
  });

  it('with two clicks where windows are blocked: in the same tab, only when the user says so', async () => {
    const page = await open();
    await page.evaluate(`location.hash = 'here'; window.open = () => null`);
    await page.click('#in');
    await alert(page, 'has not opened yet');
    await button(page, 'Open the window').click();
    await alert(page, 'has not opened yet');
    await button(page, 'Go on in this window').click();
    await page.getByText('Allow').click();
    await page.waitForFunction('window.latchkey?.session');
    expect(new URL(page.url()).hash).toBe('#here');
    expect(exchanged).toHaveLength(1);
  });

  it('not at another attempt, where the application wants something else for this one', async () => {
    const page = await open();
    await context.route('**/oauth2/authorize?**', (route) => route.abort(), { times: 1 });
    await page.evaluate(`void latchkey.signIn({ mode: 'redirect' })`);
    await button(page, 'Try again').click();
    await page.getByText('Allow').waitFor();
    expect(context.pages()).toEqual([page]);
  });

  it('not after a redirect; and a dialog that is loaded late does not come after the end', async () => {
    const page = await world.open(context, { mode: 'redirect' });
    await page.click('#in');
    await page.getByText('Allow').waitFor();
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/me', (route) => route.abort());
    await page.route('**/dialog.js', (route) => released.then(() => route.continue()));
    const loaded = page.waitForEvent('requestfinished', (sent) => sent.url().endsWith('/dialog.js'));
    await page.getByText('Allow').click();
    await page.waitForFunction(`window.latchkey?.session && of('progress').at(-1) === 'signed-in'`);
    release();
    await loaded;
    await page.evaluate(`import('/latchkey-client/dialog.js')`);
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('that may be closed, and opened again with the same state; then both windows work', async () => {
    const page = await open();
    const first = await enter(page);
    const state = stateOf(first);
    await first.close();
    const second = await popupBy(button(page, 'Open it again'));
    expect(stateOf(second)).toBe(state);
    expect(await page.evaluate(`of('progress')`)).not.toContain('failed');
    await second.getByText('Allow').click();
    await signedIn(page);
  });

  describe('that was cut off', () => {
    it.each([
      ['by the provider', 'same-origin', ''],
      ['by the application', 'unsafe-none', 'same-origin'],
    ])('%s (COOP)', async (_by, ofProvider, ofApp) => {
      [policy, world.app.openerPolicy] = [ofProvider, ofApp];
      const page = await open();
      const popup = await enter(page);
      expect(await popup.evaluate('opener')).toBeNull();
      await page.getByText('Please go on in the other window').waitFor();
      const gone = popup.waitForEvent('close').catch(() => undefined);
      await popup.getByText('Allow').click();
      await signedIn(page);
      // Where the browser does not let it close itself, it says so.
      await Promise.race([
        gone,
        popup
          .getByText('You can close this window')
          .waitFor()
          .catch(() => gone),
      ]);
      expect(exchanged).toHaveLength(1);
    });

    it.each([
      ['without BroadcastChannel', 'delete globalThis.BroadcastChannel'],
      // As Firefox does where cookies are blocked.
      [
        'that refuses one',
        `globalThis.BroadcastChannel = function () { throw new DOMException('no', 'SecurityError'); }`,
      ],
    ])('in a browser %s: by storage, where nothing stays', async (_what, script) => {
      policy = 'same-origin';
      await context.addInitScript(script);
      const page = await open();
      const popup = await enter(page);
      await popup.getByText('Allow').click();
      await signedIn(page);
      expect(exchanged).toHaveLength(1);
      expect(await page.evaluate('Object.keys(localStorage).filter((key) => /callback/.test(key))')).toEqual(
        [],
      );
    });

    it('in two tabs at once: each gets its own', async () => {
      policy = 'same-origin';
      const tabs = [await open(), await open()];
      const popups = [await enter(tabs[0]!), await enter(tabs[1]!)];
      const states = popups.map(stateOf);
      await popups[1]!.getByText('Allow').click();
      await signedIn(tabs[1]!);
      expect(exchanged).toEqual([states[1]]);
      await popups[0]!.getByText('Allow').click();
      await signedIn(tabs[0]!);
      expect(exchanged).toEqual([states[1], states[0]]);
    });

    it('and delivers once what comes by every way at once, and later again', async () => {
      const page = await open();
      const popup = await enter(page);
      const callback = { code: 'ada', state: stateOf(popup) };
      await popup.route(`${world.app.url}/callback?*`, (route) =>
        route.fulfill({
          contentType: 'text/html',
          body: `<script>
            const query = ${JSON.stringify(callback)};
            const say = () => {
              opener?.postMessage({ type: 'latchkey:callback', query }, location.origin);
              new BroadcastChannel('${line()}').postMessage(query);
              localStorage.setItem('${line()}', JSON.stringify(query));
              localStorage.removeItem('${line()}');
            };
            say(); say();
          </script>`,
        }),
      );
      await popup.getByText('Allow').click();
      await signedIn(page);
      await say(await world.open(context), callback);
      await page.evaluate('new Promise((resolve) => setTimeout(resolve, 50))');
      expect(exchanged).toEqual([callback.state]);
    });
  });

  /** Says something to the pages of this origin, as any script of it can. */
  const say = (page: Page, news: unknown): Promise<unknown> =>
    page.evaluate(`(() => {
      new BroadcastChannel('${line()}').postMessage(${JSON.stringify(news)});
      localStorage.setItem('${line()}', ${JSON.stringify(JSON.stringify(news))});
      localStorage.setItem('${line()}', '{');
      localStorage.removeItem('${line()}');
    })()`);

  it('and takes no callback of another state, nor what is none; a callback that nobody waits for is refused', async () => {
    policy = 'same-origin';
    const page = await open();
    const popup = await enter(page);
    const other = await world.open(context);
    for (const news of [{ code: 'stolen', state: '0f'.repeat(32) }, { code: 'x' }, null, 7, 'text', []])
      await say(other, news);
    await other.goto(`${world.app.url}/callback?code=stolen&state=${'0f'.repeat(32)}`);
    await other.getByText('invalid_state').waitFor();
    expect(await page.evaluate(`of('progress')`)).toEqual(['authorize', 'provider']);
    await popup.getByText('Allow').click();
    await signedIn(page);
    expect(exchanged).toEqual([expect.not.stringContaining('0f0f0f')]);
  });

  it('until the user cancels, or the state has expired', async () => {
    policy = 'same-origin';
    await context.clock.install();
    const page = await open();
    const popup = await enter(page);
    await button(page, 'Close').click();
    await page.getByText('cancelled').waitFor();
    await popup.getByText('Allow').click();
    await popup.waitForURL('**/callback');
    await popup.clock.fastForward(3000);
    await popup.getByText('invalid_state').waitFor();
    await enter(page);
    await page.clock.fastForward('10:01');
    await alert(page, 'perhaps because it took too long');
    expect(exchanged).toEqual([]);
  });
});
