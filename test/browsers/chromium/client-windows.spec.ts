import type { Frame, Locator, Page } from 'playwright-core';
import { BoundApp } from '../bound-app.js';
import { inChromium } from '../../support/chromium.js';
import { use, useEach } from '../../support/use.js';

inChromium('the client signs in by a window of its own', () => {
  /** `Cross-Origin-Opener-Policy` of the provider's page. */
  let policy: string;
  /** `target` of its links. */
  let target: string;
  /** The states of the codes that were exchanged. */
  let exchanged: string[];
  /** The errors that the pages report to the service, with the states of their sign-ins. */
  let reported: object[];

  const world = use(() => BoundApp.start({ PROVIDERS_STUB_MODE: 'popup' }));
  beforeAll(() => {
    const answer = world.provider.answer;
    world.provider.answer = (asked, response, raw) => {
      if (asked.method !== 'GET') return answer(asked, response, raw);
      const query = new URL(asked.path, world.provider.url).searchParams;
      const callback = query.get('redirect_uri');
      response.writeHead(200, { 'Content-Type': 'text/html', 'Cross-Origin-Opener-Policy': policy });
      // The error has no state, against RFC 6749 §4.1.2.1.
      response.end(`<title>Provider</title><base target="${target}">
        <a href="${callback}?code=ada&amp;state=${query.get('state')}">Allow</a>
        <a href="${callback}?error=access_denied">Deny</a>`);
    };
  });
  beforeEach(() => {
    [policy, world.app.openerPolicy, target, exchanged, reported] = ['unsafe-none', '', '_self', [], []];
  });
  const context = useEach(() => world.newDevice());
  beforeEach(() =>
    context.on('request', (sent) => {
      if (sent.method() === 'POST' && sent.url().endsWith('/oauth2/token'))
        exchanged.push((sent.postDataJSON() as { state: string }).state);
      if (sent.url().endsWith('/oauth2/callback-error')) reported.push(sent.postDataJSON() as object);
    }),
  );

  const modeIsKnown = (page: Page): Promise<unknown> =>
    page.waitForFunction(
      `of('request').some(({ path, status }) => /providers$/.test(path) && status === 200)`,
    );
  /** Opens a page, and waits until its client knows the mode. */
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

  it('if the service says so, which is known before the click', async () => {
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

  it('by another click, if the answer comes after the first one', async () => {
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
    ['of a later version', { providers: [{ name: 'stub', mode: 'hologram' }] }],
  ])('not if the answer is %s: then in a frame, from which a window can be opened', async (_what, json) => {
    await context.route('**/oauth2/providers', (route) => (json ? route.fulfill({ json }) : route.abort()));
    const page = await world.open(context);
    await page.click('#in');
    await page.frameLocator('iframe').getByText('Allow').waitFor();
    await (await popupBy(button(page, 'Open in a new window'))).getByText('Allow').click();
    await signedIn(page);
  });

  it('not if the application sets another mode, without a request', async () => {
    const page = await world.open(context, { mode: 'iframe' });
    await page.click('#in');
    await page.frameLocator('iframe').getByText('Allow').click();
    await signedIn(page);
    expect(await page.evaluate(`of('request').map(({ path }) => path)`)).not.toContain('/oauth2/providers');
  });

  it('not at a retry, if the application sets another mode for this attempt', async () => {
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
      // A browser that keeps the window open shows a sentence.
      await Promise.race([
        gone,
        popup
          .getByText('You can close this window')
          .waitFor()
          .catch(() => gone),
      ]);
      expect(exchanged).toHaveLength(1);
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

  /** Posts a message to the pages of this origin, as any script of it can. */
  const say = (page: Page, news: unknown): Promise<unknown> =>
    page.evaluate(`(() => {
      new BroadcastChannel('${line()}').postMessage(${JSON.stringify(news)});
    })()`);

  it('and accepts no callback of another state; a callback without a waiting page is rejected', async () => {
    policy = 'same-origin';
    const page = await open();
    const popup = await enter(page);
    const other = await world.open(context);
    for (const news of [{ code: 'stolen', state: '0f'.repeat(32) }, { code: 'x' }, null, 7, 'text', []])
      await say(other, news);
    await other.goto(`${world.app.url}/callback?code=stolen&state=${'0f'.repeat(32)}`);
    await other.getByText('invalid_state').waitFor();
    expect(await page.evaluate(`of('progress')`)).toEqual(['authorize', 'provider']);
    await other.goto(`${world.app.url}/callback?error=login_failed&state=${'0f'.repeat(32)}`);
    await other.getByText('invalid_state').waitFor();
    expect(reported).toEqual([{ state: '0f'.repeat(32), error: 'login_failed' }]); // its page was closed
    await popup.getByText('Allow').click();
    await signedIn(page);
    expect(exchanged).toEqual([expect.not.stringContaining('0f0f0f')]);
  });

  describe('whose callback comes in another window than expected', () => {
    const address = (options: object): string =>
      `${world.app.url}/?options=${encodeURIComponent(JSON.stringify({ provider: 'stub', ...options }))}`;
    /** The application in a frame of another site. */
    async function framed(options: object): Promise<Frame> {
      const page = await context.newPage();
      await page.goto(`${world.app.foreignUrl}/stranger?frame=${encodeURIComponent(address(options))}`);
      await page.frameLocator('iframe').locator('#in').waitFor();
      return page.frames()[1]!;
    }
    const isIn = (view: Page | Frame): Promise<unknown> =>
      view.waitForFunction('window.latchkey?.session?.userId');
    const isDenied = (view: Page | Frame): Promise<void> =>
      view.getByRole('alert').getByText('The sign-in was not allowed').waitFor();

    it.each(['_top', '_parent'])('%s, out of the frame: finishes in the tab that began', async (where) => {
      target = where;
      const page = await world.open(context, { mode: 'iframe' });
      await page.evaluate(`location.hash = 'here'`);
      await page.click('#in');
      await page.frameLocator('iframe').getByText('Allow').click();
      await isIn(page);
      expect(page.url()).toBe(`${address({ mode: 'iframe' })}#here`);
      expect(exchanged).toHaveLength(1);
    });

    it('out of the frame, and is refused: says so in the tab that began', async () => {
      target = '_top';
      const page = await world.open(context, { mode: 'iframe' });
      await page.click('#in');
      await page.frameLocator('iframe').getByText('Deny').click();
      await isDenied(page);
      await button(page, 'Try again').click();
      await page.getByText('Allow').click();
      await isIn(page);
    });

    it('in the frame that holds the application itself: finishes there', async () => {
      const app = await framed({ mode: 'iframe' });
      await app.click('#in');
      const shown = app.frameLocator('iframe').getByText('Allow');
      await shown.waitFor();
      // `target="_parent"`, which Chromium allows only within an origin.
      await app.goto(app.childFrames()[0]!.url());
      await app.getByText('Allow').click();
      await isIn(app);
    });

    it('not in a popup from the frame, which has no copy of what the page remembers', async () => {
      const page = await world.open(context, { mode: 'iframe' });
      await page.click('#in');
      const popup = await popupBy(button(page, 'Open in a new window'));
      await popup.goto(`${world.app.url}/stranger?frame=about:blank`);
      expect(await popup.evaluate('Object.keys(sessionStorage)')).toEqual([]);
      await popup.goBack();
      await popup.getByText('Allow').click();
      await signedIn(page);
    });

    it.each(['Open the window', 'Go on in this window'])(
      'asks before a page in a frame is left by a redirect: %s',
      async (way) => {
        const app = await framed({ mode: 'redirect' });
        await app.click('#in');
        await app.getByRole('alert').getByText('has not opened yet').waitFor();
        const choice = app.getByRole('button', { name: way });
        if (way.startsWith('Open')) await (await popupBy(choice)).getByText('Allow').click();
        else {
          await choice.click();
          await app.getByText('Allow').click();
        }
        await isIn(app);
        expect(exchanged).toHaveLength(1);
      },
    );

    it.each([
      [
        'forbids storage',
        `Object.defineProperty(window, 'sessionStorage', { get() { throw new DOMException('no', 'SecurityError'); } })`,
      ],
      [
        'has no room',
        `Storage.prototype.setItem = function () { throw new DOMException('no', 'QuotaExceededError'); }`,
      ],
    ])('leaves no page by a redirect in a browser that %s: it could not go on', async (_what, script) => {
      await context.addInitScript(script);
      const page = await world.open(context, { mode: 'redirect' });
      await page.click('#in');
      await alert(page, 'This browser stores nothing for this site');
      expect(await page.getByRole('button', { name: 'Go on in this window' }).count()).toBe(0);
      await (await popupBy(button(page, 'Open the window'))).getByText('Allow').click();
      await signedIn(page);
    });

    it('and is not passed on: names the page in the console, on a loopback host', async () => {
      await context.route('**/callback?**', (route) => route.fulfill({ body: 'Not found' }));
      const page = await world.open(context, { mode: 'iframe' });
      const warned: string[] = [];
      page.on('console', (said) => warned.push(said.text()));
      await page.clock.install();
      for (const how of ['Open in a new window', 'frame']) {
        await page.click('#in');
        const shown = how === 'frame' ? undefined : await popupBy(button(page, how));
        if (shown) await shown.getByText('Allow').click();
        else await page.frameLocator('iframe').getByText('Allow').click();
        await (shown ?? page.frameLocator('iframe')).getByText('Not found').waitFor();
        await page.evaluate(`import('/latchkey-client/callback-watch.js')`);
        await page.clock.runFor(9000);
        await button(page, 'Close').click();
        expect(warned).toEqual([
          expect.stringContaining(`${world.app.url}/callback does not call handleCallback()`),
        ]);
        warned.length = 0;
      }
    });

    describe('with an error that has no state', () => {
      it('from its frame, its popup, or by a redirect: the dialog says that it was not allowed', async () => {
        const page = await world.open(context, { mode: 'iframe' });
        await page.click('#in');
        await page.frameLocator('iframe').getByText('Deny').click();
        await isDenied(page);
        const popup = await (async () => {
          await button(page, 'Try again').click();
          return popupBy(button(page, 'Open in a new window'));
        })();
        await popup.getByText('Deny').click();
        await isDenied(page);
        await button(page, 'Close').click();
        await page.evaluate(`void latchkey.signIn({ mode: 'redirect' }).catch(() => 0)`);
        await page.getByText('Deny').click();
        await isDenied(page);
        await button(page, 'Try again').click();
        await page.getByText('Allow').click();
        await isIn(page);
        const denied = { state: expect.stringMatching(/^[0-9a-f]{64}$/), error: 'access_denied' };
        expect(reported).toEqual([denied, denied, denied]);
      });

      it('from elsewhere: the sign-in continues', async () => {
        const page = await world.open(context, { mode: 'iframe' });
        await page.click('#in');
        await page.frameLocator('iframe').getByText('Allow').waitFor();
        const forged = { error: 'access_denied' };
        const other = await world.open(context);
        await say(other, forged);
        await other.goto(`${world.app.url}/callback?error=access_denied`);
        await other.getByText('invalid_state').waitFor();
        await page.evaluate(`(() => {
          postMessage({ type: 'latchkey:callback', query: ${JSON.stringify(forged)} }, '*');
          const frame = document.createElement('iframe');
          frame.src = '/callback?error=access_denied';
          document.body.append(frame);
          return new Promise((resolve) => (frame.onload = () => setTimeout(() => resolve(frame.remove()), 500)));
        })()`);
        expect(await page.evaluate(`of('progress')`)).toEqual(['authorize', 'provider']);
        await page.frameLocator('iframe').getByText('Allow').click();
        await signedIn(page);
      });

      it('from another frame during a redirect: the redirect continues', async () => {
        const page = await world.open(context, { mode: 'redirect' });
        await page.click('#in');
        await page.getByText('Allow').waitFor();
        const authorization = page.url();
        await page.goto(
          `${world.app.url}/stranger?frame=${encodeURIComponent('/callback?error=access_denied')}`,
        );
        await page.frames()[1]!.waitForURL(`${world.app.url}/callback`);
        await page.goto(authorization);
        await page.getByText('Allow').click();
        await isIn(page);
      });

      it('from a window that was cut off: it cannot be assigned to a sign-in', async () => {
        policy = 'same-origin';
        const page = await open();
        const popup = await enter(page);
        await popup.getByText('Deny').click();
        await popup.getByText('invalid_state').waitFor();
        expect(await page.evaluate(`of('progress')`)).toEqual(['authorize', 'provider']);
        expect(reported).toEqual([]);
        await (await popupBy(button(page, 'Open it again'))).getByText('Allow').click();
        await signedIn(page);
      });
    });
  });

  it('until the user cancels, or the state has expired', async () => {
    policy = 'same-origin';
    await context.clock.install();
    const page = await open();
    const popup = await enter(page);
    const state = stateOf(popup);
    const answer = context.waitForEvent('response', (sent) => sent.url().endsWith('/oauth2/callback-error'));
    await button(page, 'Close').click();
    expect((await answer).status()).toBe(204);
    await page.getByText('cancelled').waitFor();
    expect(reported).toEqual([{ state, error: 'cancelled' }]);
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
