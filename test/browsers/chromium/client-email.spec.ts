import axe from 'axe-core';
import type { BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { BoundApp } from '../bound-app.js';
import { inChromium } from '../../support/chromium.js';
import { StubProvider } from '../../support/stub-provider.js';
import { use } from '../../support/use.js';

const OPTIONS = { provider: null, redirectUri: '/callback/{provider}', mode: 'iframe' };

/** Providers that serve domains (docs/guides/access-policy.md#which-provider). */
inChromium('the client where an e-mail address chooses the provider', () => {
  let context: BrowserContext;
  let page: Page;
  /** Queries of the page to the service, by path. */
  let sent: [path: string, query: Record<string, string>][];
  const others: StubProvider[] = [];

  const env: Record<string, string> = {};
  beforeAll(async () => {
    for (const [name, domains] of [
      ['CORP', 'corp.example,both.example'],
      ['PARTNER', 'partner.example,both.example'],
    ] as const) {
      const provider = await StubProvider.start();
      provider.signInAtOnce();
      others.push(provider);
      Object.assign(env, provider.env(name), {
        [`PROVIDERS_${name}_LABEL`]: `The ${name}`,
        [`PROVIDERS_${name}_EMAIL_DOMAINS`]: domains,
      });
    }
  });
  afterAll(async () => {
    for (const provider of others) await provider.close();
  });
  const world = use(() => BoundApp.start({ ...env, PROVIDERS_MOCK_ENABLED: 'false' }));
  afterEach(() => context.close());

  async function open(options: object = {}, device: BrowserContextOptions = {}): Promise<void> {
    context = await world.newDevice({ reducedMotion: 'reduce', ...device });
    page = await world.open(context, { ...OPTIONS, ...options });
    sent = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (request.url().startsWith(world.front.url)) sent.push([pathname, Object.fromEntries(searchParams)]);
    });
  }
  const field = (): Locator => page.getByRole('dialog').getByLabel('E-mail address');
  const queries = (path: string): Record<string, string>[] =>
    sent.filter(([one]) => one === path).map(([, query]) => query);
  const signedIn = (): Promise<unknown> => page.waitForFunction('window.latchkey?.session');

  it('asks for it, sends the domain alone, and begins at the only provider for it', async () => {
    await open();
    await page.focus('#in');
    await page.keyboard.press('Enter');
    await field().and(page.locator(':focus')).waitFor();
    expect(await field().getAttribute('type')).toBe('email');
    expect(await field().getAttribute('autocomplete')).toBe('username');
    await page.keyboard.press('Enter'); // the field is required
    await page.keyboard.type('ada@corp.example');
    await page.keyboard.press('Enter');
    await signedIn();
    expect(queries('/oauth2/providers').filter(({ email }) => email)).toEqual([{ email: '@corp.example' }]);
    expect(queries('/oauth2/authorize')).toEqual([
      expect.objectContaining({ provider: 'corp', login_hint: 'ada@corp.example' }),
    ]);
    const stored = await page.evaluate(
      'JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)])',
    );
    expect(stored).not.toContain('ada@corp.example');
  });

  it('shows the providers for its domain, if there are several', async () => {
    await open();
    await page.click('#in');
    await field().fill('ada@both.example');
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    const choice = page.getByRole('button', { name: 'Continue with' });
    await choice.nth(1).waitFor();
    expect(await choice.allTextContents()).toEqual(['Continue with The CORP', 'Continue with The PARTNER']);
    await choice.nth(1).click();
    await signedIn();
    expect(queries('/oauth2/authorize')).toEqual([
      expect.objectContaining({ provider: 'partner', login_hint: 'ada@both.example' }),
    ]);
  });

  it('takes the providers without domains for any other address', async () => {
    await open();
    await page.click('#in');
    await field().fill('ada@elsewhere.example');
    await field().press('Enter');
    await signedIn();
    expect(queries('/oauth2/authorize')).toEqual([expect.objectContaining({ provider: 'stub' })]);
  });

  it('asks again if there is no provider for it', async () => {
    await open();
    await context.route(
      '**/oauth2/providers?email=*',
      (route) => route.fulfill({ json: { providers: [] } }),
      {
        times: 1,
      },
    );
    await page.click('#in');
    await field().fill('ada@typo.example');
    await field().press('Enter');
    await page.getByRole('alert').getByText('Nobody can sign in here with this address.').waitFor();
    await field().and(page.locator(':focus')).waitFor();
    expect(await field().inputValue()).toBe('ada@typo.example');
    expect(await field().getAttribute('aria-invalid')).toBe('true');
    await field().fill('ada@corp.example');
    await field().press('Enter');
    await signedIn();
  });

  it('explains that the service cannot be reached, and tries again with the address', async () => {
    await open();
    await context.route('**/oauth2/providers?email=*', (route) => route.abort(), { times: 1 });
    await page.click('#in');
    await field().fill('ada@corp.example');
    await field().press('Enter');
    await page.getByRole('alert').getByText('cannot be reached').waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await signedIn();
  });

  it('asks for another address after an account that may not sign in', async () => {
    await open();
    await context.route(
      '**/oauth2/token',
      (route) =>
        route.fulfill({
          status: 403,
          json: { error: 'access_denied' },
          headers: { 'Access-Control-Allow-Origin': '*' },
        }),
      { times: 1 },
    );
    await page.click('#in');
    await field().fill('ada@corp.example');
    await field().press('Enter');
    await page.getByRole('button', { name: 'Use another account' }).click();
    expect(await field().inputValue()).toBe('');
    await field().fill('bob@partner.example');
    await field().press('Enter');
    await signedIn();
    expect(queries('/oauth2/authorize').at(-1)).toMatchObject({
      provider: 'partner',
      prompt: 'select_account',
      login_hint: 'bob@partner.example',
    });
  });

  it('is what the one button of showProviders() asks for', async () => {
    await open();
    await page.evaluate(`latchkey.showProviders(document.body.appendChild(document.createElement('main')))`);
    const buttons = page.locator('main').getByRole('button');
    await buttons.first().waitFor();
    expect(await buttons.allTextContents()).toEqual(['Sign in']);
    await buttons.click();
    await field().fill('ada@corp.example');
    await field().press('Enter');
    await signedIn();
    expect(queries('/oauth2/authorize')).toEqual([expect.objectContaining({ provider: 'corp' })]);
  });

  describe('signIn({ email })', () => {
    const signIn = (options: object): Promise<unknown> =>
      page.evaluate(`void latchkey.signIn(${JSON.stringify(options)}).catch(() => 0)`);

    it.each([
      ['begins without the question', { email: 'ada@corp.example' }, [{ email: '@corp.example' }], 'corp'],
      ['with a provider only suggests it', { email: 'ada@corp.example', provider: 'stub' }, [], 'stub'],
      [
        'sends the part after the last @',
        { email: '"a@b"@corp.example' },
        [{ email: '@corp.example' }],
        'corp',
      ],
    ])('%s', async (_what, options, lookups, provider) => {
      await open();
      await signIn(options);
      await signedIn();
      expect(queries('/oauth2/providers').filter(({ email }) => email)).toEqual(lookups);
      expect(queries('/oauth2/authorize')).toEqual([
        expect.objectContaining({ provider, login_hint: options.email }),
      ]);
    });

    it.each(['ada', 'ada@', ''])('asks if %j has no domain, and sends none of it', async (email) => {
      await open();
      await signIn({ email });
      await field().waitFor();
      expect(await field().inputValue()).toBe(email);
      expect(queries('/oauth2/providers').filter((query) => 'email' in query)).toEqual([]);
    });
  });

  it.each([
    ['en', 'E-mail address'],
    ['de', 'E-Mail-Adresse'],
    ['ar', 'البريد الإلكتروني'],
  ])('passes axe-core at 320 px, light and dark, in %s', async (locale, label) => {
    await open({ locale }, { viewport: { width: 320, height: 568 } });
    await page.evaluate(`void (document.documentElement.style.colorScheme = 'light dark')`);
    await page.click('#in');
    await page.getByRole('dialog').getByLabel(label).waitFor();
    await page.evaluate(axe.source);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const { violations } = await page.evaluate<axe.AxeResults>(`axe.run('body > div')`);
      expect([colorScheme, violations]).toEqual([colorScheme, []]);
      const shots = process.env['SHOTS'];
      if (shots) await page.screenshot({ path: `${shots}/email-${locale}-${colorScheme}.png` });
    }
    const { x, width } = (await page.locator('form input').boundingBox())!;
    expect(x > 0 && x + width < 320).toBe(true);
  });
});
