import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { inChromium, launchChromium } from '../support/chromium.js';
import { startTestService } from '../support/service.js';
import { REDIRECT_URI, StockClient } from '../support/stock-client.js';
import { providersEnv, StubProvider } from '../support/stub-provider.js';
import { use, useEach } from '../support/use.js';

/** The page that asks for an e-mail address (docs/guides/access-policy.md#which-provider). */
inChromium('the page for an e-mail address, for stock OAuth clients', () => {
  let page: Page;
  const client = new StockClient();

  const provider = use(() => StubProvider.start());
  const oauth2 = () => ({
    adapter: 'oauth2',
    authorize_url: `${provider.url}/authorize`,
    token_url: `${provider.url}/token`,
    userinfo_url: `${provider.url}/me`,
    claim_user_id: 'id',
  });
  const service = use(() =>
    startTestService({
      ...providersEnv({
        corp: { ...oauth2(), email_domains: 'corp.example,both.example', allowed_params: 'tenant' },
        partner: { ...oauth2(), email_domains: 'partner.example,both.example' },
      }),
      'providers.mock.enabled': 'false',
      REDIRECT_URIS: REDIRECT_URI,
    }),
  );
  const browser = use(() => launchChromium());
  beforeEach(() => {
    provider.reset();
    provider.answer = (_request, response) => void response.end('the provider');
  });
  // Without scripts, the page does all.
  const context = useEach(() =>
    browser.newContext({ javaScriptEnabled: false, viewport: { width: 320, height: 568 } }),
  );
  beforeEach(async () => {
    page = await context.newPage();
  });

  const addressOf = (more: Record<string, unknown> = {}): string => {
    const parameters = client.authorizationRequest(more) as Record<string, string>;
    return `${service.url}/oauth2/authorize?${new URLSearchParams(parameters).toString()}`;
  };
  const answer = async (email: string): Promise<void> => {
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('E-mail address').press('Enter');
  };
  const atProvider = (): Promise<void> => page.waitForURL((url) => url.origin === provider.url);
  /** Queries of the sign-ins that the page has begun. */
  const begun = (): Record<string, string>[] => {
    const queries: Record<string, string>[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname === '/oauth2/authorize' && request.url().startsWith(service.url))
        queries.push(Object.fromEntries(searchParams));
    });
    return queries;
  };

  it('goes to the provider for the domain, with the address and the parameters that count', async () => {
    const queries = begun();
    await page.goto(addressOf({ tenant: 'a"b', login_hint: 'eve', other: 'x' }));
    await answer('ada@corp.example');
    await atProvider();
    const { scope, other, login_hint, ...needed } = queries[0]!;
    expect([scope, other, login_hint]).toEqual(['anything', 'x', 'eve']);
    expect(queries.slice(1)).toEqual([
      { ...needed, email: 'ada@corp.example' },
      { ...needed, provider: 'corp', login_hint: 'ada@corp.example' },
    ]);
    // The provider's page gets both.
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toMatchObject({
      login_hint: 'ada@corp.example',
      tenant: 'a"b',
    });
    expect(service.log.join('')).toContain('"/oauth2/authorize"');
    expect(service.log.join('')).not.toMatch(/ada(@|%40)/);
  });

  it('shows the providers of a domain that has several', async () => {
    await page.goto(addressOf());
    await answer('ada@both.example');
    const links = page.locator('.choices a');
    await links.nth(1).waitFor();
    expect(await links.allInnerTexts()).toEqual(['corp', 'partner']);
    const queries = begun();
    await links.nth(1).click();
    await atProvider();
    expect(queries).toEqual([
      expect.objectContaining({ provider: 'partner', login_hint: 'ada@both.example', state: client.state }),
    ]);
  });

  it('asks again if nobody serves the domain, and escapes what was entered', async () => {
    const wrong = `"><b id="x">&'@typo.example`;
    await page.goto(addressOf({ email: wrong }));
    await page.getByRole('alert').getByText('Nobody can sign in here with this address.').waitFor();
    expect(await page.getByLabel('E-mail address').inputValue()).toBe(wrong);
    expect(await page.locator('#x').count()).toBe(0);
    await answer('ada@partner.example');
    await atProvider();
  });

  it.each(['ada', 'ada@', '@', ' '])('asks again for %j', async (email) => {
    await page.goto(addressOf({ email }));
    await page.getByRole('alert').waitFor();
  });

  it('refuses an address of more than 320 characters', async () => {
    const refused = await page.goto(addressOf({ email: `${'a'.repeat(321)}@corp.example` }));
    expect(refused!.status()).toBe(400);
    expect(await page.locator('main').innerText()).toContain('email must be');
  });

  it('asks nothing if the client names the provider', async () => {
    await page.goto(addressOf({ provider: 'corp' }));
    await atProvider();
  });

  it.each([
    ['light', undefined],
    ['dark', undefined],
    ['light', 'ada@typo.example'],
    ['dark', 'ada@typo.example'],
  ] as const)(
    'fits 320 px and has no fault that axe knows: %s, after %j; its form has one target',
    async (colorScheme, email) => {
      const scripted = await browser.newContext({ colorScheme, viewport: { width: 320, height: 568 } });
      const other = await scripted.newPage();
      const complaints: string[] = [];
      other.on('console', (message) => void complaints.push(message.text()));
      const shown = await other.goto(addressOf({ email }));
      const headers = shown!.headers();
      expect(headers['content-security-policy']).toMatch(
        /^default-src 'none'; .*; form-action 'self'; frame-ancestors 'none'$/,
      );
      expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
      expect(await other.locator(':focus').getAttribute('name')).toBe('email');
      expect(await other.evaluate('document.documentElement.scrollWidth')).toBe(320);
      await other.evaluate(axe.source);
      const { violations } = await other.evaluate<axe.AxeResults>('axe.run(document)');
      expect(violations).toEqual([]);
      expect(complaints).toEqual([]);
      const shots = process.env['SHOTS'];
      if (shots) await other.screenshot({ path: `${shots}/page-${email ? 'wrong-' : ''}${colorScheme}.png` });
      await scripted.close();
    },
  );
});
