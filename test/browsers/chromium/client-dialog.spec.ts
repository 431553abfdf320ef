import axe from 'axe-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { inChromium, launchChromium } from '../../support/chromium.js';
import { ClientApp } from '../../support/client-app.js';
import { startTestService, type TestService } from '../../support/service.js';

inChromium("the client's dialog", () => {
  let service: TestService;
  let app: ClientApp;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    service = await startTestService();
    app = await ClientApp.start();
    app.service = service.url;
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await app?.close();
    await service?.close();
  });
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

  it('is loaded ahead; where it cannot be loaded, signIn() says so, and works after a reload', async () => {
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

  it('has no fault that axe-core knows, in each of its states, light and dark', async () => {
    await open();
    const faults: string[] = [];
    await inEachState(async (state) => {
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

  it('fits 320 px in each of its states, also where the text is twice as large', async () => {
    await open({ locale: 'de' }, { viewport: { width: 320, height: 225 } });
    await inEachState(async (state) => {
      expect([state, await tooWide(), await page.evaluate('document.documentElement.scrollWidth')]).toEqual([
        state,
        [],
        320,
      ]);
      await page.evaluate(
        `document.querySelector('body > div').shadowRoot.querySelector('dialog').scrollTo(0, 1e6)`,
      );
      expect(
        await page.evaluate(
          `document.querySelector('body > div').shadowRoot.querySelector('section').getBoundingClientRect().bottom <= innerHeight`,
        ),
      ).toBe(true);
    });
  });

  it('has the focus where it is needed: in the frame, after an error in the password, then where it was', async () => {
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
    await page.keyboard.press('Escape'); // which the provider's page tells
    await page.getByText('cancelled').waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('in');
  });

  it.each(['in a page', 'in a page that another site frames'])(
    '%s has the focus where it is needed, and the console stays empty',
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

  it('allows passkeys in its frame for each origin that the provider redirects to', async () => {
    await open();
    await page.click('#in');
    await provider().getByLabel('Password').waitFor();
    const mayUsePasskeys = `document.featurePolicy.allowsFeature('publickey-credentials-get')`;
    const frame = page.frames().at(-1)!;
    expect(await frame.evaluate(mayUsePasskeys)).toBe(true);
    await frame.goto(`${app.foreignUrl}/stranger?frame=about:blank`);
    expect(await frame.evaluate(mayUsePasskeys)).toBe(true);
    expect(await frame.evaluate(`document.featurePolicy.allowsFeature('camera')`)).toBe(false);
  });

  it('has its header in the direction of its texts', async () => {
    const arabic = {
      language: 'ar',
      signIn: 'تسجيل الدخول',
      wait: 'لحظة من فضلك',
      newWindow: 'افتح نافذة جديدة',
    };
    await open({ texts: { ...arabic, close: 'إغلاق' } });
    await page.evaluate(`document.documentElement.dir = 'rtl'`);
    /** From the edges of the dialog to title and button, at the start and at the end; and to the text below. */
    const gaps = (): Promise<number[]> =>
      page.evaluate(`(() => {
        const dialog = document.querySelector('body > div').shadowRoot.querySelector('dialog');
        const isRtl = getComputedStyle(dialog).direction === 'rtl';
        const box = (css) => dialog.querySelector(css).getBoundingClientRect();
        const outer = dialog.getBoundingClientRect();
        const [start, end] = [(one) => isRtl ? outer.right - one.right : one.left - outer.left, (one) => isRtl ? one.left - outer.left : outer.right - one.right];
        return [isRtl, Math.round(start(box('h2'))), Math.round(end(box('header button')))];
      })()`);
    await page.click('#in');
    await provider().getByLabel('Password').waitFor();
    expect(await gaps()).toEqual([true, 21, 7]);
    await page.reload();
    await page.goto(`${app.url}/?options=%7B%7D`);
    await page.click('#in');
    await provider().getByLabel('Password').waitFor();
    expect(await gaps()).toEqual([false, 21, 7]);
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
    // A page that says nothing by itself.
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

  it('asks after 4 s whether to open a window, and goes on waiting', async () => {
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
});
