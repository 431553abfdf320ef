import axe from 'axe-core';
import type { BrowserContext, BrowserContextOptions, Page, Request } from 'playwright-core';
import { BoundApp } from '../bound-app.js';
import { inChromium } from '../../support/chromium.js';
import { StubProvider } from '../../support/stub-provider.js';
import { use } from '../../support/use.js';

const REFUSED = 'This account may not sign in here.';
const SEVERAL = { provider: null, redirectUri: '/callback/{provider}' };

/** An account that the service does not admit (docs/guides/access-policy.md#a-refused-account). */
inChromium('an account that may not sign in', () => {
  let context: BrowserContext;
  /** Who has a session at the provider: only bob may sign in. */
  let account: 'ada' | 'bob';

  const forum = use(() => StubProvider.start());
  const world = use(() =>
    BoundApp.start({
      ...forum.env('FORUM'),
      PROVIDERS_STUB_LABEL: 'Corp',
      PROVIDERS_STUB_ALLOW: 'user_id=bob',
      PROVIDERS_FORUM_LABEL: 'Forum',
      PROVIDERS_FORUM_MODE: 'redirect',
      PROVIDERS_MOCK_ENABLED: 'false',
    }),
  );
  beforeAll(() => {
    world.provider.signInAtOnce(() => account);
    forum.signInAtOnce();
  });
  beforeEach(() => void (account = 'ada'));
  afterEach(() => context.close());

  async function open(options: object = {}, device: BrowserContextOptions = {}): Promise<Page> {
    context = await world.newDevice({ reducedMotion: 'reduce', ...device });
    return world.open(context, options);
  }
  const begins = (page: Page): Promise<Request> => page.waitForRequest('**/oauth2/authorize?provider=**');
  const queryOf = async (sent: Promise<Request>): Promise<Record<string, string>> =>
    Object.fromEntries(new URL((await sent).url()).searchParams);

  it('reads so, and another one of the same provider can sign in', async () => {
    const page = await open();
    const first = queryOf(begins(page));
    await page.evaluate(`void (window.done = latchkey.signIn({ loginHint: 'ada@corp.example' }))`);
    expect(await first).toMatchObject({ login_hint: 'ada@corp.example' });
    await page.getByRole('alert').getByText(REFUSED).waitFor();
    await page.waitForFunction(
      `document.activeElement.shadowRoot?.activeElement?.textContent === 'Use another account'`,
    );
    const second = queryOf(begins(page));
    account = 'bob';
    await page.keyboard.press('Enter');
    const query = await second;
    expect(query).toMatchObject({ provider: 'stub', prompt: 'select_account' });
    expect(query).not.toHaveProperty('login_hint');
    expect(await page.evaluate('window.done.then(({ userId }) => !!userId)')).toBe(true);
  });

  it('rejects signIn() with access_denied and its status if the user closes the dialog', async () => {
    const page = await open();
    await page.evaluate('void (window.done = latchkey.signIn().catch(({ code, status }) => [code, status]))');
    await page.getByRole('alert').getByText(REFUSED).waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    expect(await page.evaluate('window.done')).toEqual(['access_denied', 403]);
  });

  it('reads so after a redirect, too', async () => {
    const page = await open({ mode: 'redirect' });
    await page.click('#in');
    await page.getByRole('alert').getByText(REFUSED).waitFor();
    const second = queryOf(begins(page));
    account = 'bob';
    await page.getByRole('button', { name: 'Use another account' }).click();
    expect(await second).toMatchObject({ prompt: 'select_account' });
    await page.waitForFunction('window.latchkey?.session');
  });

  it('rejects signIn() with it if the dialog cannot be loaded', async () => {
    const page = await open({ mode: 'redirect' });
    await context.route('**/latchkey-client/dialog.js', (route) => route.abort());
    world.app.also = `window.joined = sessionStorage.getItem('latchkey:' + SERVICE + ':sign-in') &&
      latchkey.signIn().catch(({ code, status }) => [code, status]);`;
    try {
      await page.click('#in');
      await page.waitForFunction('window.joined');
      expect(await page.evaluate('window.joined')).toEqual(['access_denied', 403]);
    } finally {
      world.app.also = '';
    }
  });

  it('can choose another provider, if the user chose this one in the dialog', async () => {
    const page = await open(SEVERAL);
    await page.click('#in');
    await page.getByRole('button', { name: 'Continue with Corp' }).click();
    await page.getByRole('alert').getByText(REFUSED).waitFor();
    await page.getByRole('button', { name: 'Use another account' }).click();
    const second = queryOf(begins(page));
    await page.getByRole('button', { name: 'Continue with Forum' }).click(); // in another mode
    expect(await second).toMatchObject({ provider: 'forum', prompt: 'select_account' });
    await page.waitForFunction('window.latchkey?.session');
  });

  it('is no user who declined at the provider', async () => {
    const page = await open();
    const { answer } = world.provider;
    world.provider.answer = (request, response, raw) => {
      if (request.method !== 'GET') return answer(request, response, raw);
      const state = new URL(request.path, world.provider.url).searchParams.get('state');
      const location = `${world.app.url}/callback?error=access_denied&state=${state}`;
      response.writeHead(302, { Location: location }).end();
    };
    try {
      await page.click('#in');
      await page.getByRole('alert').getByText('The sign-in was not allowed.').waitFor();
    } finally {
      world.provider.answer = answer;
    }
    const second = queryOf(begins(page));
    await page.getByRole('button', { name: 'Try again' }).click();
    expect(await second).not.toHaveProperty('prompt');
  });

  it.each([
    ['en', 'ltr', REFUSED],
    ['de', 'ltr', 'Mit diesem Konto können Sie sich hier nicht anmelden.'],
    ['ar', 'rtl', 'لا يُسمح لهذا الحساب بتسجيل الدخول هنا.'],
  ])('passes axe-core at 320 px, light and dark, in %s', async (locale, direction, sentence) => {
    const page = await open({ locale }, { viewport: { width: 320, height: 568 } });
    await page.evaluate(`void (document.documentElement.style.colorScheme = 'light dark')`);
    await page.click('#in');
    await page.getByRole('alert').getByText(sentence).waitFor();
    await page.evaluate(axe.source);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const { violations } = await page.evaluate<axe.AxeResults>(`axe.run('body > div')`);
      expect([colorScheme, violations]).toEqual([colorScheme, []]);
      const shots = process.env['SHOTS'];
      if (shots) await page.screenshot({ path: `${shots}/refused-${locale}-${colorScheme}.png` });
    }
    const { dialog, shown } = await page.evaluate<Record<string, unknown>>(`(() => {
      const { shadowRoot } = document.querySelector('body > div');
      return {
        dialog: getComputedStyle(shadowRoot.querySelector('dialog')).direction,
        shown: shadowRoot.querySelector('section > button').getBoundingClientRect().right < innerWidth,
      };
    })()`);
    expect([dialog, shown]).toEqual([direction, true]);
  });
});
