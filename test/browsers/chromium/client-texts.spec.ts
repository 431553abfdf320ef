import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { inChromium, launchChromium } from '../../support/chromium.js';
import { ClientApp } from '../../support/client-app.js';
import { startTestService, type TestService } from '../../support/service.js';

inChromium("the texts of the client's dialog", () => {
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

  it.each(['de', 'es', 'fr', 'ja', 'zh'])(
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
    ['a gateway', { status: 502, body: 'Bad gateway' }, 'The sign-in service has a problem'],
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
  ])('has a sentence for %s', async (_what, answer, sentence) => {
    await open();
    const allowed = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': '*' };
    await page.route('**/oauth2/authorize?provider=**', (route) =>
      answer
        ? route.fulfill({ ...answer, headers: { ...allowed, ...('headers' in answer && answer.headers) } })
        : route.abort(),
    );
    await page.click('#in');
    await page.getByRole('alert').getByText(sentence).waitFor();
    expect(await dialog().innerText()).not.toMatch(/_|network|constructor/);
  });

  it.each([
    ['with a script and a region', 'zh-Hant-TW', 'zh-Hans', '登录'],
    ['with an underscore', 'fr_CA', 'fr', 'Se connecter'],
    ['in capitals', 'DE', 'de', 'Anmelden'],
    ['that begins like another', 'dem', 'en', 'Sign in'],
    ['that is empty', '', 'en', 'Sign in'],
    ['of a million letters', 'd'.repeat(1e6), 'en', 'Sign in'],
    ['that is a name of objects', 'constructor', 'en', 'Sign in'],
  ])('understands a locale %s', async (_what, locale, language, words) => {
    context = await browser.newContext({ locale: 'en' });
    page = await context.newPage();
    await page.goto(`${app.url}/callback`);
    await page.evaluate(
      `import('/latchkey-client/index.js').then(({ createClient }) => {
        const { signIn } = createClient({ url: '${service.url}', provider: 'mock', redirectUri: '/', mode: 'iframe', locale: ${JSON.stringify(locale)} });
        return new Promise((resolve) => setTimeout(resolve, 100)).then(() => void signIn().catch(() => 0));
      })`,
    );
    await page
      .getByRole('dialog', { name: words })
      .and(page.locator(`[lang="${language}"]`))
      .waitFor();
  });

  it('goes on where words are missing, and where their language is none', async () => {
    await open({ texts: { language: 'pt_BR', signIn: null, close: 'Fechar' }, mode: 'iframe' });
    await page.route('**/oauth2/authorize?provider=**', (route) =>
      route.fulfill({ status: 429, json: {}, headers: { 'Access-Control-Allow-Origin': '*' } }),
    );
    await page.click('#in');
    await page.getByRole('alert').getByText('again in 60 seconds').waitFor();
    await page.getByRole('dialog', { name: 'Sign in' }).waitFor();
    await page.getByRole('button', { name: 'Fechar' }).waitFor();
  });

  it('speaks English where a language cannot be loaded, and takes words of one that it does not have', async () => {
    await open({ locale: 'fr', mode: 'iframe' });
    await context.route('**/fr.js', (route) => route.abort());
    await page.reload();
    await page.click('#in');
    await page.getByRole('dialog', { name: 'Sign in' }).waitFor();
    await context.close();
    const texts = {
      language: 'ar',
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
        `getComputedStyle(document.querySelector('body > div').shadowRoot.querySelector('dialog[lang=ar]')).direction`,
      ),
    ).toBe('rtl');
  });
});
