import axe from 'axe-core';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { BoundApp } from '../bound-app.js';
import { inChromium } from '../../support/chromium.js';
import { prepare, use } from '../../support/use.js';

inChromium("the client's dialog", () => {
  let context: BrowserContext;
  let page: Page;

  const world = use(() => BoundApp.start());
  const app = prepare(() => world.app);
  const browser = prepare(() => world.browser);
  afterEach(() => context.close());

  async function open(options: object = {}, device: BrowserContextOptions = {}): Promise<void> {
    context = await browser.newContext({ reducedMotion: 'reduce', ...device });
    page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(`${app.url}/?options=${encodeURIComponent(JSON.stringify(options))}`);
  }
  const dialog = () => page.getByRole('dialog');
  const provider = () => page.frameLocator('iframe');
  const isFocused = (name: string): Promise<unknown> =>
    page.waitForFunction(
      `document.activeElement.shadowRoot?.activeElement?.matches(${JSON.stringify(name)})`,
    );

  /** What leaves the dialog to a side, or does not fit its own box. */
  const tooWide = (): Promise<string[]> =>
    page.evaluate(`(() => {
      const dialog = document.querySelector('body > div').shadowRoot.querySelector('dialog');
      const { left, right } = dialog.getBoundingClientRect();
      return [...dialog.querySelectorAll('*')].filter((part) => {
        const box = part.getBoundingClientRect();
        return box.width && (box.left < left || box.right > right || part.scrollWidth > Math.ceil(box.width) + 1);
      }).map((part) => part.outerHTML);
    })()`);

  /** Every state of the dialog, one after the other. */
  async function inEachState(look: (state: string) => Promise<void>): Promise<void> {
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/oauth2/authorize?provider=**', (route) => released.then(() => route.continue()), {
      times: 1,
    });
    await page.evaluate('void latchkey.signIn({ mode: "iframe" }).catch(() => 0)');
    await dialog().waitFor();
    await look('loading');
    release();
    await provider().getByLabel('Password').waitFor();
    await isFocused('iframe');
    await look('frame');
    const [popup] = await Promise.all([page.waitForEvent('popup'), page.locator('footer button').click()]);
    await look('waiting');
    await popup.close();
    await page.evaluate('void (window.open = () => null)');
    await page.locator('section button').click();
    await page.locator('section button').nth(1).waitFor();
    await look('blocked');
    await page.locator('header button').click();
    await page.route('**/oauth2/authorize?provider=**', (route) => route.abort(), { times: 1 });
    await page.evaluate('void latchkey.signIn({ mode: "iframe" }).catch(() => 0)');
    await page.getByRole('alert').waitFor();
    await look('problem');
  }

  it('is loaded ahead; if that fails, signIn() rejects, and works after a reload', async () => {
    await open();
    await page.waitForFunction(`performance.getEntriesByName('${app.url}/latchkey-client/dialog.js').length`);
    await page.route('**/latchkey-client/dialog.js', (route) => route.abort());
    await page.reload();
    await page.click('#in');
    await page.getByText('network').waitFor();
    expect(await dialog().count()).toBe(0);
    await page.unrouteAll();
    await page.reload();
    await page.click('#in');
    await provider().getByLabel('Password').waitFor();
  });

  it('fits 320 px and passes axe-core in each of its states, light and dark', async () => {
    await open({ locale: 'de' }, { viewport: { width: 320, height: 225 } }); // a quarter: as with a text twice as large
    await page.evaluate(`void (document.documentElement.style.colorScheme = 'light dark')`);
    const faults: string[] = [];
    await inEachState(async (state) => {
      expect([state, await tooWide(), await page.evaluate('document.documentElement.scrollWidth')]).toEqual([
        state,
        [],
        320,
      ]);
      const root = `document.querySelector('body > div').shadowRoot`;
      await page.evaluate(`${root}.querySelector('dialog').scrollTo(0, 1e6)`);
      expect(
        await page.evaluate(`${root}.querySelector('section').getBoundingClientRect().bottom <= innerHeight`),
      ).toBe(true);
      await page.evaluate(axe.source);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const { violations } = await page.evaluate<axe.AxeResults>(
          `axe.run(document.querySelector('body > div'), { iframes: false })`,
        );
        for (const { id, nodes } of violations)
          faults.push(`${state}, ${colorScheme}: ${id}: ${nodes.map((node) => node.html).join()}`);
      }
    });
    expect(faults).toEqual([]);
  });

  it('keeps the button for a window in view beside a higher page, on a phone', async () => {
    await open({}, { viewport: { width: 375, height: 560 } });
    await page.click('#in');
    await provider().getByLabel('Password').waitFor();
    const bottoms = (): Promise<{ frame: number; button: number }> =>
      page.evaluate(`(() => {
        const { shadowRoot } = document.querySelector('body > div');
        const bottomOf = (css) => shadowRoot.querySelector(css).getBoundingClientRect().bottom;
        return { frame: bottomOf('iframe'), button: bottomOf('footer button') };
      })()`);
    await page.waitForFunction(
      `document.querySelector('body > div').shadowRoot.querySelector('.box').style.height`,
    );
    const { frame, button } = await bottoms();
    expect(frame).toBeGreaterThan(560); // it asked for more than there is
    expect(button).toBeLessThanOrEqual(560);
    await Promise.all([page.waitForEvent('popup'), page.locator('footer button').click()]);
  });

  it.each([
    ['', '', 'light', 'light'], // color-scheme: normal
    ['', '', 'dark', 'light'],
    ['light', '', 'dark', 'light'],
    ['dark', '', 'light', 'dark'],
    ['light dark', '', 'light', 'light'],
    ['light dark', '', 'dark', 'dark'],
    ['', '<meta name="color-scheme" content="light dark">', 'dark', 'dark'],
    ['light dark', '<style>:root { --latchkey-color-scheme: light }</style>', 'dark', 'light'],
  ] as const)(
    'follows the page: color-scheme "%s" %s, for a user who prefers %s, is %s',
    async (scheme, head, colorScheme, expected) => {
      await open({}, { colorScheme });
      await page.evaluate(
        `document.head.insertAdjacentHTML('beforeend', ${JSON.stringify(head)}); document.documentElement.style.colorScheme = ${JSON.stringify(scheme)}`,
      );
      await page.evaluate('void latchkey.signIn({ mode: "iframe" }).catch(() => 0)');
      await dialog().waitFor();
      await page.evaluate(`Promise.all([
      latchkey.showProviders(document.body.appendChild(document.createElement('main'))),
      latchkey.showDevices(document.body.appendChild(document.createElement('main'))),
      latchkey.showUser(document.body.appendChild(document.createElement('main'))),
    ])`);
      // A system colour of each shadow tree, from its lightness.
      const schemes =
        await page.evaluate(`[...document.querySelectorAll('body > div, main > div')].map(({ shadowRoot }) => {
      const probe = (shadowRoot.querySelector('dialog[open]') ?? shadowRoot).appendChild(document.createElement('p'));
      probe.style.color = 'light-dark(#ffffff, #000000)';
      const { color } = getComputedStyle(probe);
      probe.remove();
      return color === 'rgb(255, 255, 255)' ? 'light' : 'dark';
    })`);
      expect(schemes).toEqual([expected, expected, expected, expected]);
    },
  );

  it('moves the focus into the frame, to the password after an error, then back to the button', async () => {
    await open();
    await page.focus('#in');
    await page.keyboard.press('Enter');
    await provider().locator('#login:focus').waitFor();
    await page.keyboard.type('ada');
    await page.keyboard.press('Tab');
    await page.keyboard.type('wrong');
    await page.keyboard.press('Enter');
    await provider().getByRole('alert').waitFor();
    await provider().locator('#password:focus').waitFor();
    await page.keyboard.press('Escape'); // the provider's page reports it
    await page.getByText('cancelled').waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('in');
  });

  it.each(['in a page', 'in a page that another site frames'])(
    '%s moves the focus into the frame, and the console stays empty',
    async (where) => {
      await open();
      const complaints: string[] = [];
      page.on('console', (line) => complaints.push(line.text()));
      page.on('pageerror', ({ message }) => complaints.push(message));
      const isFramed = where.includes('frames');
      await page.goto(
        isFramed ? `${app.foreignUrl}/stranger?frame=${encodeURIComponent(page.url())}` : page.url(),
      );
      const view = isFramed ? page.frameLocator('iframe') : page;
      await view.locator('#in').click();
      await view.frameLocator('iframe').locator('#login:focus').waitFor();
      await page.keyboard.type('ada');
      await view.frameLocator('iframe').getByLabel('Password').press('Enter');
      await view.frameLocator('iframe').locator('#login').waitFor();
      expect(await view.frameLocator('iframe').locator('#login').inputValue()).toBe('ada');
      expect(complaints).toEqual([]);
    },
  );

  it.each([
    ['en', 'ltr'],
    ['ar', 'rtl'],
  ])(
    'shows the host of the frame in %s as long as it is known, and the button beside it',
    async (locale, direction) => {
      await open({ locale });
      await page.click('#in');
      await provider().getByLabel('Password').waitFor();
      const head = dialog().getByRole('heading');
      expect(await head.innerText()).toBe(new URL(app.service).host);
      const [title, close] = await Promise.all([
        head.boundingBox(),
        dialog().locator('header button').boundingBox(),
      ]);
      expect(close!.x > title!.x).toBe(direction === 'ltr');
      await provider().locator('#login').fill('ada');
      await provider().locator('#password').fill('wrong');
      await provider().locator('#password').press('Enter'); // to the same page, with an error
      await dialog()
        .getByRole('heading', { name: /^(Sign in|تسجيل الدخول)$/ })
        .waitFor();
    },
  );

  it('allows passkeys in its frame for each origin that the provider redirects to', async () => {
    await open();
    await page.click('#in');
    await provider().getByLabel('Password').waitFor();
    const mayUsePasskeys = `['get', 'create'].filter((use) => document.featurePolicy.allowsFeature('publickey-credentials-' + use))`;
    const frame = page.frames().at(-1)!;
    expect(await frame.evaluate(mayUsePasskeys)).toEqual(['get', 'create']);
    await frame.goto(`${app.foreignUrl}/stranger?frame=about:blank`);
    expect(await frame.evaluate(mayUsePasskeys)).toEqual(['get', 'create']);
    expect(await frame.evaluate(`document.featurePolicy.allowsFeature('camera')`)).toBe(false);
  });

  it('is as high as the content of its frame, within bounds; other windows have no say', async () => {
    await open();
    await page.click('#in');
    await provider().getByLabel('Password').waitFor();
    const isHigh = (low: number, high: number): Promise<unknown> =>
      page.waitForFunction(
        `(({ clientHeight: height }) => height >= ${low} && height <= ${high})(document.querySelector('body > div').shadowRoot.querySelector('.box'))`,
      );
    const frame = page.frames().at(-1)!;
    const main = await frame.evaluate('document.querySelector("main").scrollHeight');
    await isHigh(Number(main) - 40, Number(main) + 40);
    expect(await frame.evaluate('document.documentElement.scrollHeight <= innerHeight')).toBe(true);
    // A page that sends no height.
    await page.route('**/providers/mock/**', (route) =>
      route.fulfill({ contentType: 'text/html', body: 'Provider' }),
    );
    await frame.goto(frame.url());
    const tell = (height: unknown): Promise<unknown> =>
      frame.evaluate(`parent.postMessage({ type: 'latchkey:height', height: ${String(height)} }, '*')`);
    await tell(300);
    await isHigh(300, 300);
    for (const none of ['"much"', 'NaN', '{}', 'undefined']) await tell(none);
    await tell(1e9);
    await isHigh(1600, 1600);
    await tell(-1);
    await isHigh(160, 160);
    await page.evaluate(`postMessage({ type: 'latchkey:height', height: 500 }, '*')`);
    await page.evaluate(`postMessage({ type: 'latchkey:escape' }, '*')`);
    await page.evaluate('new Promise((resolve) => setTimeout(resolve))');
    await isHigh(160, 160);
  });

  it('offers a window after 4 s, and keeps waiting', async () => {
    await open();
    await page.clock.install();
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/providers/mock/**', (route) => released.then(() => route.continue()));
    await page.click('#in');
    await page.locator('iframe').waitFor();
    expect(await page.getByText('Still loading?').count()).toBe(0);
    await page.clock.fastForward(4100);
    await page.getByText('Still loading?').waitFor();
    release();
    await provider().getByLabel('Password').waitFor();
    await page.getByText('Still loading?').waitFor({ state: 'detached' });
  });

  describe('in words', () => {
    it.each(['ar', 'de', 'es', 'fr', 'he', 'it', 'ja', 'ko', 'nl', 'pl', 'pt', 'uk', 'zh'])(
      'has all texts in %s, and room for each at 320 px',
      async (language) => {
        await open({ locale: language }, { viewport: { width: 320, height: 568 } });
        await page.route('**/oauth2/authorize?provider=**', (route) => route.abort());
        await page.click('#in');
        await page.getByRole('alert').waitFor();
        const texts = await page.evaluate<Record<string, string>>(
          `import('/latchkey-client/${language}.js').then((module) => module.default)`,
        );
        const { slowDown } = texts;
        expect(slowDown).toContain('{when}');
        for (const [name, text] of Object.entries(texts)) {
          await page.evaluate(`for (const place of ['[role=alert]', 'h2', 'section button'])
        document.querySelector('body > div').shadowRoot.querySelector(place).textContent = ${JSON.stringify(text)}`);
          expect([name, text !== '', await tooWide()]).toEqual([name, true, []]);
        }
      },
    );

    it.each([
      ['network', undefined, 'The sign-in service cannot be reached'],
      [
        'slow_down',
        { status: 429, json: { error: 'slow_down' }, headers: { 'Retry-After': '30' } },
        'again in 30 seconds',
      ],
      ['slow_down, no wait', { status: 429, json: { error: 'slow_down' } }, 'again in 60 seconds'],
      [
        'an address that is none',
        { json: { redirect_url: 'https://', state: 'x' } },
        'Signing in did not work. Please try again.',
      ],
      ['invalid_request', { status: 400, json: { error: 'invalid_request' } }, 'not set up correctly'],
      [
        'another',
        { status: 418, json: { error: 'constructor' } },
        'Signing in did not work. Please try again.',
      ],
    ])('explains %s', async (_what, answer, sentence) => {
      await open();
      const allowed = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': '*' };
      await page.route('**/oauth2/authorize?provider=**', (route) =>
        answer
          ? route.fulfill({ ...answer, headers: { ...allowed, ...('headers' in answer && answer.headers) } })
          : route.abort(),
      );
      await page.click('#in');
      await page.getByRole('alert').getByText(sentence).waitFor();
      expect(await page.getByRole('alert').innerText()).not.toMatch(/_|network|constructor/);
    });

    it.each([
      [
        'code and cause to a developer, on a loopback host',
        () => app.url,
        ['network · There is no answer: try again later. · TypeError: Failed to fetch'],
      ],
      ['only a sentence to a user', () => 'https://app.example', []],
    ])('shows %s', async (_what, origin, details) => {
      context = await browser.newContext();
      page = await context.newPage();
      await page.route('https://app.example/**', async (route) => {
        const { pathname, search } = new URL(route.request().url());
        await route.fulfill({ response: await route.fetch({ url: app.url + pathname + search }) });
      });
      await page.route('**/oauth2/authorize?provider=**', (route) => route.abort());
      await page.goto(`${origin()}/?options=${encodeURIComponent('{"mode":"iframe"}')}`);
      await page.click('#in');
      await page.getByRole('alert').getByText('cannot be reached').waitFor();
      expect(await dialog().locator('small').allTextContents()).toEqual(details);
    });

    it.each([
      ['with a script and a region', 'zh-Hant-TW', 'zh-Hans', '登录'],
      ['with an underscore', 'fr_CA', 'fr', 'Se connecter'],
      ['that begins like another', 'dem', 'en', 'Sign in'],
      ['that is empty', '', 'en', 'Sign in'],
      ['that is a name of objects', 'constructor', 'en', 'Sign in'],
    ])('supports a locale %s', async (_what, locale, language, words) => {
      context = await browser.newContext({ locale: 'en' });
      page = await context.newPage();
      await page.goto(`${app.url}/callback`);
      await page.evaluate(
        `import('/latchkey-client/index.js').then(({ createClient }) => {
        const { signIn } = createClient({ url: '${app.service}', provider: 'mock', redirectUri: '/', mode: 'iframe', locale: ${JSON.stringify(locale)} });
        return new Promise((resolve) => setTimeout(resolve, 100)).then(() => void signIn().catch(() => 0));
      })`,
      );
      await page
        .getByRole('dialog', { name: words })
        .and(page.locator(`[lang="${language}"]`))
        .waitFor();
    });

    it('works with missing texts, and with an invalid language', async () => {
      await open({ texts: { language: 'pt_BR', signIn: null, close: 'Fechar' }, mode: 'iframe' });
      await page.route('**/oauth2/authorize?provider=**', (route) =>
        route.fulfill({ status: 429, json: {}, headers: { 'Access-Control-Allow-Origin': '*' } }),
      );
      await page.click('#in');
      await page.getByRole('alert').getByText('again in 60 seconds').waitFor();
      await page.getByRole('dialog', { name: 'Sign in' }).waitFor();
      await page.getByRole('button', { name: 'Fechar' }).waitFor();
    });

    it('is English if a language cannot be loaded, and accepts texts of an unknown language', async () => {
      await open({ locale: 'fr', mode: 'iframe' });
      await context.route('**/fr.js', (route) => route.abort());
      await page.reload();
      await page.click('#in');
      await page.getByRole('dialog', { name: 'Sign in' }).waitFor();
      await context.close();
      const texts = {
        language: 'fa',
        signIn: 'تسجيل الدخول',
        failed: 'تعذّر تسجيل الدخول.',
        retry: 'حاول مرة أخرى',
      };
      await open({ texts, mode: 'iframe' });
      await page.route('**/oauth2/authorize?provider=**', (route) =>
        route.fulfill({ status: 418, json: {}, headers: { 'Access-Control-Allow-Origin': '*' } }),
      );
      await page.click('#in');
      await page.getByRole('button', { name: 'حاول مرة أخرى' }).waitFor();
      expect(
        await page.evaluate(
          `getComputedStyle(document.querySelector('body > div').shadowRoot.querySelector('dialog[lang=fa]')).direction`,
        ),
      ).toBe('rtl');
    });
  });
});
