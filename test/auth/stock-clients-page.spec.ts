import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { inChromium, launchChromium } from '../support/chromium.js';
import { startTestService, type TestService } from '../support/service.js';
import { REDIRECT_URI, StockClient } from '../support/stock-client.js';
import { StubProvider } from '../support/stub-provider.js';

/** The page on which people choose a provider (contract §4), and the one that shows an error. */
inChromium('the pages for stock OAuth clients', () => {
  let provider: StubProvider;
  let service: TestService;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    provider = await StubProvider.start();
    const long = 'a-provider-with-a-name-of-the-greatest-length-that-there-may-be';
    const keys = { url: provider.url, client_id: 'latchkey', client_secret: 'a client secret of the stub' };
    const env = Object.entries(keys).map(([key, value]) => [`providers.${long}.${key}`, value]);
    service = await startTestService({ ...Object.fromEntries(env), REDIRECT_URIS: REDIRECT_URI });
    browser = await launchChromium();
    const context = await browser.newContext({ viewport: { width: 320, height: 568 } });
    page = await context.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
    await provider?.close();
  });

  const addressOf = (more: Record<string, unknown> = {}): string => {
    const parameters = new StockClient().authorizationRequest(more) as Record<string, string>;
    return `${service.url}/oauth2/authorize?${new URLSearchParams(parameters).toString()}`;
  };

  it.each([
    ['to choose a provider', {}],
    ['of an error', { state: '\t' }],
  ])('the page %s fits 320 px and has no fault that axe knows, in light and dark', async (_name, more) => {
    await page.goto(addressOf(more));
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
    await page.evaluate(axe.source);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const { violations } = await page.evaluate<axe.AxeResults>('axe.run(document)');
      expect(violations.map(({ id }) => id)).toEqual([]);
    }
  });

  it('is worked by keyboard', async () => {
    await page.goto(addressOf());
    const focused = (): Promise<string | null> => page.locator(':focus').textContent();
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Sample provider');
    await page.keyboard.press('Tab');
    expect(await focused()).toMatch(/^a-provider/);
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/providers\/mock\/oauth2\/authorize/);
    expect(await page.locator('input[name=login]').count()).toBe(1);
  });

  it('has its own style, which its policy lets pass', async () => {
    const context = await browser.newContext();
    const strict = await context.newPage();
    const complaints: string[] = [];
    strict.on('console', (message) => void complaints.push(message.text()));
    await strict.goto(addressOf());
    const width = `getComputedStyle(document.querySelector('main')).maxWidth`;
    expect(await strict.evaluate(width)).toBe('400px');
    expect(complaints).toEqual([]);
    await context.close();
  });
});
