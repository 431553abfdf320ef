import axe from 'axe-core';
import type { Locator, Page } from 'playwright-core';
import { BoundApp } from '../bound-app.js';
import { inChromium } from '../../support/chromium.js';
import { StubProvider } from '../../support/stub-provider.js';
import { use, useEach } from '../../support/use.js';

const OPTIONS = { provider: null, redirectUri: '/callback/{provider}' };

inChromium('the client with several providers', () => {
  const forum = use(() => StubProvider.start());
  const world = use(() =>
    BoundApp.start({
      ...forum.env('FORUM'),
      PROVIDERS_STUB_LABEL: 'Google',
      PROVIDERS_STUB_MODE: 'iframe',
      PROVIDERS_FORUM_LABEL: 'The $& Forum',
      PROVIDERS_MOCK_ENABLED: 'false',
    }),
  );
  beforeAll(() => forum.signInAtOnce());
  beforeEach(() => {
    world.app.beforeCallback = '';
  });
  const context = useEach(() =>
    world.newDevice({ viewport: { width: 360, height: 640 }, reducedMotion: 'reduce' }),
  );

  const button = (page: Page, name: string): Locator => page.getByRole('button', { name });
  const signedIn = (page: Page): Promise<void> => page.getByText('signed in as').waitFor();
  /** What the page posts to an endpoint. */
  const posted = async (page: Page, path: string): Promise<unknown> =>
    (
      await page.waitForRequest((sent) => sent.method() === 'POST' && sent.url().endsWith(path))
    ).postDataJSON();

  it('passes the options of a sign-in to the service, and nothing else', async () => {
    const page = await world.open(context, OPTIONS);
    const asked = page.waitForRequest('**/oauth2/authorize?**');
    await page.evaluate(`void latchkey.signIn({
      provider: 'stub', loginHint: 'ada@corp.example', prompt: 'login', maxAge: 0, acrValues: 'mfa',
      params: { ui_locales: 'de', redirect_uri: 'https://evil.example' }, mode: undefined,
    }).catch(() => 0)`);
    const { searchParams } = new URL((await asked).url());
    expect(Object.fromEntries(searchParams)).toEqual({
      provider: 'stub',
      login_hint: 'ada@corp.example',
      prompt: 'login',
      max_age: '0',
      acr_values: 'mfa',
      ui_locales: 'de',
      redirect_uri: `${world.app.url}/callback/stub`,
      code_challenge: expect.any(String),
      code_challenge_method: 'S256',
    });
  });

  it.each([
    ['Google', 'stub'],
    ['The $& Forum', 'forum'],
  ])('lets the user choose %s in the dialog, and gives it a redirect URI of its own', async (label, name) => {
    const page = await world.open(context, OPTIONS);
    const body = posted(page, '/oauth2/token');
    await page.focus('#in');
    await page.keyboard.press('Enter');
    const choice = page.getByRole('dialog').getByRole('button', { name: 'Continue with' });
    await choice.nth(1).waitFor();
    expect(await choice.allTextContents()).toEqual(['Continue with Google', 'Continue with The $& Forum']);
    expect(await choice.locator('svg[aria-hidden=true]').count()).toBe(1);
    await page.waitForFunction(`(() => {
      const { activeElement } = document.activeElement.shadowRoot;
      return activeElement.shadowRoot?.activeElement?.textContent === 'Continue with Google';
    })()`);
    await page.getByRole('dialog').getByRole('button', { name: label }).press('Enter');
    await signedIn(page);
    expect(await body).toMatchObject({ redirect_uri: `${world.app.url}/callback/${name}` });
  });

  it('shows the choice again after the user has closed the dialog, and an explanation without the list', async () => {
    await context.route('**/oauth2/providers', (route) => route.abort(), { times: 2 });
    const page = await world.open(context, OPTIONS);
    await page.click('#in');
    await page.getByRole('alert').getByText('cannot be reached').waitFor();
    await button(page, 'Try again').click();
    await button(page, 'Continue with Google').waitFor();
    await button(page, 'Close').click();
    await page.getByText('cancelled').waitFor();
    await page.click('#in');
    await button(page, 'Continue with Google').waitFor();
  });

  it('asks for no choice of one, and opens its window by the same click', async () => {
    await context.route('**/oauth2/providers', (route) =>
      route.fulfill({ json: { providers: [{ name: 'forum', label: 'Forum', mode: 'popup' }] } }),
    );
    const page = await world.open(context, OPTIONS);
    await page.waitForFunction(`of('request').some(({ path }) => path.endsWith('/providers'))`);
    await Promise.all([context.waitForEvent('page'), page.click('#in')]);
    await signedIn(page);
  });

  it('passes axe-core at 360 px, light and dark: the dialog, and the buttons in the page', async () => {
    const page = await world.open(context, { ...OPTIONS, locale: 'de' });
    await page.evaluate(`latchkey.showProviders(document.body.appendChild(document.createElement('main')))`);
    expect(await page.locator('main').getByRole('button').allTextContents()).toEqual([
      'Weiter mit Google',
      'Weiter mit The $& Forum',
    ]);
    await page.evaluate(axe.source);
    await page.evaluate(`void (document.documentElement.style.colorScheme = 'light dark')`);
    for (const place of ['main', 'body > div']) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const { violations } = await page.evaluate<axe.AxeResults>(`axe.run('${place}')`);
        expect([place, colorScheme, violations]).toEqual([place, colorScheme, []]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
      }
      if (place === 'main') await page.click('#in');
      await page.getByRole('dialog').getByRole('button', { name: 'Weiter' }).nth(1).waitFor();
    }
  });

  it('signs in by a button in the page, and shows one button without the list', async () => {
    const page = await world.open(context, OPTIONS);
    await context.route('**/oauth2/providers', (route) => route.abort());
    await page.reload();
    await page.evaluate(`latchkey.showProviders(document.querySelector('#out'))`);
    await page.locator('#out').getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('cannot be reached').waitFor();
    await context.unrouteAll();
    await page.reload();
    await page.evaluate(`latchkey.showProviders(document.querySelector('#out'))`);
    await button(page, 'Continue with Google').click();
    await page.waitForFunction('window.latchkey?.session');
  });

  describe('compares where the callback arrives (RFC 9700 §4.4)', () => {
    let answer: StubProvider['answer'];
    beforeEach(() => void ({ answer } = world.provider));
    afterEach(() => void (world.provider.answer = answer));
    /** Makes the provider `stub` send the browser to another address of the application. */
    const answerAt = (path: string): void => {
      world.provider.answer = (request, response, raw) => {
        if (request.method !== 'GET') return answer(request, response, raw);
        const state = new URL(request.path, world.provider.url).searchParams.get('state');
        response.writeHead(302, { Location: `${world.app.url}${path}?code=ada&state=${state}` }).end();
      };
    };

    it.each(['iframe', 'redirect'])('and sends no code of another provider: %s', async (mode) => {
      const exchanges = (): number =>
        world.provider.requests.filter(({ method }) => method === 'POST').length;
      const before = exchanges();
      answerAt('/callback/forum');
      const page = await world.open(context, { ...OPTIONS, mode });
      const body = posted(page, '/oauth2/token');
      await page.evaluate(`void latchkey.signIn({ provider: 'stub' }).catch(() => 0)`);
      expect(await body).toMatchObject({ redirect_uri: `${world.app.url}/callback/forum`, code: 'ada' });
      await page.getByRole('alert').waitFor();
      expect(await page.evaluate('latchkey.session')).toBeUndefined();
      expect(exchanges()).toBe(before);
    });

    it.each(['/callback/stub/', '/en/callback/stub', '/callback/stub/index.html'])(
      'and accepts what a server makes of the path: %s',
      async (path) => {
        answerAt(path);
        const page = await world.open(context, { ...OPTIONS, mode: 'iframe' });
        await page.evaluate(`void latchkey.signIn({ provider: 'stub' }).catch(() => 0)`);
        await page.waitForFunction('window.latchkey?.session');
      },
    );

    it.each(['iframe', 'redirect'])('and a router that has changed the path before: %s', async (mode) => {
      world.app.beforeCallback = `history.replaceState(null, '', '/welcome' + location.search);`;
      const page = await world.open(context, { ...OPTIONS, mode });
      await page.evaluate(`void latchkey.signIn({ provider: 'stub' }).catch(() => 0)`);
      await page.waitForFunction('window.latchkey?.session');
    });
  });
});
