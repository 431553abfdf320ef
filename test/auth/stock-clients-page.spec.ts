import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { inChromium, launchChromium } from '../support/chromium.js';
import { startTestService, type TestService } from '../support/service.js';
import { REDIRECT_URI, StockClient } from '../support/stock-client.js';
import { StubProvider } from '../support/stub-provider.js';

/**
 * The page on which people choose a provider (docs/stock-clients.md#metadata), and the one that shows an
 * error.
 */
inChromium('the pages for stock OAuth clients', () => {
  let provider: StubProvider;
  let service: TestService;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    provider = await StubProvider.start();
    const long = 'a-provider-with-a-name-of-the-greatest-length-that-there-may-be';
    const keys = { url: provider.url, client_id: 'latchkey', client_secret: 'a client secret of the stub' };
    const env = Object.entries(keys).flatMap(([key, value]) => [
      [`providers.${long}.${key}`, value],
      [`providers.hub.${key}`, value],
    ]);
    service = await startTestService({
      ...Object.fromEntries(env),
      'providers.hub.label': 'GitHub',
      REDIRECT_URIS: REDIRECT_URI,
    });
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
    ['of an address that is not allowed', { redirect_uri: 'https://elsewhere.example/cb' }],
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

  it('shows the provider that this browser used last first, if it is one of the list', async () => {
    const context = await browser.newContext();
    const other = await context.newPage();
    const order = async (): Promise<string[]> => {
      await other.goto(addressOf());
      return other.locator('.choices a').allInnerTexts();
    };
    const before = await order();
    await other.getByRole('link', { name: 'GitHub' }).click();
    await other.waitForURL((url) => url.origin === new URL(provider.url).origin);
    expect(await order()).toEqual([
      expect.stringMatching(/^GitHub\s+Last used$/),
      ...before.filter((one) => one !== 'GitHub'),
    ]);
    const cookies = await context.cookies();
    expect(cookies.map(({ path }) => path).toSorted()).toEqual(['/oauth2/authorize', '/providers']); // the way back
    const cookie = cookies.find(({ path }) => path === '/oauth2/authorize');
    expect(cookie).toMatchObject({
      value: 'hub',
      httpOnly: true,
      sameSite: 'Lax',
    });
    for (const value of ['unknown', '"><script>', 'x'.repeat(3000)]) {
      await context.addCookies([{ ...cookie!, value }]);
      expect(await order()).toEqual(before);
    }
    await context.close();
  });

  it.each([
    ['is missing', { redirect_uri: '' }, 'has not said where to return to'],
    [
      'is not listed',
      { redirect_uri: 'https://elsewhere.example/cb' },
      'an address that is not allowed here',
    ],
    ['is no address', { redirect_uri: 'here' }, 'an address that is not allowed here'],
    ['is right, but another parameter is not', { state: '\t' }, 'in a way that is not complete'],
  ])('says so if the redirect URI %s, and sends the browser nowhere', async (_what, more, sentence) => {
    const answer = await page.goto(addressOf(more));
    expect(answer!.status()).toBe(400);
    const text = await page.locator('main').innerText();
    expect(text).toContain(sentence);
    expect(text).not.toContain('elsewhere');
  });

  it('has its own style, which its policy lets pass', async () => {
    const context = await browser.newContext();
    const strict = await context.newPage();
    const complaints: string[] = [];
    strict.on('console', (message) => void complaints.push(message.text()));
    await strict.goto(addressOf());
    const width = `getComputedStyle(document.querySelector('main')).maxWidth`;
    expect(await strict.evaluate(width)).toBe('400px');
    expect(await strict.locator('a:has-text("GitHub") svg path').count()).toBe(1);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
