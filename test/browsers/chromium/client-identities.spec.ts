import { randomUUID } from 'node:crypto';
import axe from 'axe-core';
import type { Locator, Page } from 'playwright-core';
import { link, tokensAt } from '../../linking/person.js';
import { inChromium } from '../../support/chromium.js';
import { query as sql } from '../../support/database.js';
import { bearer, type Tokens } from '../../support/sign-in.js';
import { StubProvider } from '../../support/stub-provider.js';
import { use, useEach } from '../../support/use.js';
import { until } from '../../support/waiting.js';
import { BoundApp } from '../bound-app.js';
import { bundle, Pages } from '../bundle.js';

/** As an application shows the accounts: without a framework, and with two. */
const APPS: Readonly<Record<string, string>> = {
  plain: `latchkey.showIdentities(document.getElementById('root'), { onError });`,
  React: `
    import { createElement, StrictMode } from 'react';
    import { createRoot } from 'react-dom/client';
    import { Identities, LatchkeyProvider } from '@latchkey/client/react';
    const list = createElement(Identities, { onError });
    const all = createElement(LatchkeyProvider, { client: latchkey }, list);
    createRoot(document.getElementById('root')).render(createElement(StrictMode, null, all));`,
  Vue: `
    import { createApp, h, onMounted, onUnmounted, ref } from 'vue';
    createApp({
      setup() {
        const place = ref();
        let remove;
        onMounted(() => (remove = latchkey.showIdentities(place.value, { onError })));
        onUnmounted(() => remove.then((stop) => stop()));
        return () => h('div', { ref: place });
      },
    }).mount('#root');`,
};
const CLIENT = (url: string): string => `
  import { createClient } from '@latchkey/client';
  const { locale = 'en', mode = 'iframe', storage, ask } = Object.fromEntries(new URLSearchParams(location.search));
  const latchkey = createClient({
    url: '${url}', provider: 'stub', redirectUri: '/callback/{provider}', locale, mode, storage, askAgain: ask !== 'no',
  });
  window.latchkey = latchkey;
  window.errors = [];
  const onError = ({ code }) => errors.push(code);
`;
const CALLBACK = `latchkey.handleCallback().catch(({ code }) => (document.getElementById('root').textContent = code));`;

/** Accounts of several providers in the SDK (docs/guides/linking.md#in-the-page). */
inChromium('the accounts of a user', () => {
  let page: Page;
  /** Who the persons are at the providers. */
  let ada: string;
  let octo: string;

  const hub = use(() => StubProvider.start());
  const world = use(() =>
    BoundApp.start({
      ...hub.env('HUB'),
      ...hub.env('FORGE'),
      PROVIDERS_MOCK_ENABLED: 'false',
      PROVIDERS_STUB_LINKS: 'hub,forge',
      PROVIDERS_STUB_LABEL: 'Corp',
      ...hub.env('TIMED'),
      PROVIDERS_TIMED_AUTH_TIME: 'sign_in',
      PROVIDERS_TIMED_LINKS: 'hub',
      PROVIDERS_HUB_LABEL: 'GitHub',
      PROVIDERS_FORGE_LABEL: 'The $& Forge',
    }),
  );
  const pages = use(() => Pages.start());
  beforeAll(async () => {
    for (const [name, source] of Object.entries({ ...APPS, callback: CALLBACK, bare: '' }))
      pages.put(`/${name}`, await bundle({ [`${name}.js`]: CLIENT(world.service.url) + source }));
    for (const name of ['stub', 'timed', 'hub', 'forge'])
      pages.at.set(`/callback/${name}`, pages.at.get('/callback')!);
  });
  const context = useEach(() =>
    world.newDevice({ viewport: { width: 360, height: 740 }, reducedMotion: 'reduce' }),
  );
  beforeEach(async () => {
    [ada, octo] = [`ada-${randomUUID()}`, `octo-${randomUUID()}`];
    for (const [provider, who, domain] of [
      [world.provider, () => ada, 'corp.example'],
      [hub, () => octo, 'hub.example'],
    ] as const) {
      provider.reset();
      provider.answer = ({ body }, response) => {
        const id = new URLSearchParams(body).get('code')!;
        const email = `${id.split('-')[0]}@${domain}`;
        response.writeHead(200, { 'Content-Type': 'application/json' });
        response.end(JSON.stringify({ provider_user_id: id, username: 'Ada', email }));
      };
      provider.signInAtOnce(who);
    }
    context.setDefaultTimeout(20_000);
    page = await context.newPage();
  });

  /** Opens an application, signed in. */
  async function open(app = 'plain', query = '', on = page, provider = 'stub'): Promise<void> {
    await on.goto(`${pages.url}/bare`);
    await on.evaluate(`latchkey.signIn({ provider: '${provider}' })`);
    await on.goto(`${pages.url}/${app}${query}`);
    await rows(on).first().waitFor();
  }
  const rows = (on = page): Locator =>
    on.getByRole('list', { name: 'Accounts that sign you in' }).getByRole('listitem');
  const button = (name: string, on = page): Locator => on.getByRole('button', { name, exact: true });
  const question = (): Locator => page.getByRole('alertdialog');
  const says = (text: string, on = page): Promise<void> => on.getByRole('status').getByText(text).waitFor();
  const isFocused = (name: string): Promise<unknown> =>
    page.waitForFunction(`(() => {
      let { activeElement: at } = document;
      while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
      return (at.ariaLabel ?? at.textContent) === ${JSON.stringify(name)};
    })()`);
  const errors = (): Promise<string[]> => page.evaluate('errors');
  const stored = (): Promise<Tokens> =>
    page.evaluate(`JSON.parse(localStorage.getItem('latchkey:${world.service.url}'))`);
  /** Providers of the accounts, as the service has them. */
  async function joined(): Promise<string[]> {
    const { access_token } = await stored();
    const { body } = await bearer(world.service.url, access_token).get('/me/identities').expect(200);
    return (body as { identities: { provider: string }[] }).identities.map(({ provider }) => provider);
  }
  /** Makes the session old, so that the service wants a newer sign-in. */
  async function age(): Promise<void> {
    const old = `now() - interval '301 s'`;
    const text = `UPDATE refresh_tokens SET created_at = ${old}, auth_time = CASE WHEN auth_time IS NOT NULL THEN ${old} END`;
    await sql(world.service.databaseUrl, text);
    await page.evaluate(`{
      const key = 'latchkey:${world.service.url}';
      const held = JSON.parse(localStorage.getItem(key));
      localStorage.setItem(key, JSON.stringify({ ...held, signed_in_at: held.signed_in_at - 301_000 }));
      dispatchEvent(new StorageEvent('storage', { key })); // browsers send it to other tabs only
    }`);
  }
  async function findFaults(): Promise<unknown[]> {
    await page.evaluate(axe.source);
    const rules = `{ region: { enabled: false }, 'page-has-heading-one': { enabled: false }, 'landmark-one-main': { enabled: false } }`;
    const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(document, { rules: ${rules} })`);
    return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
  }
  async function picture(name: string): Promise<void> {
    const shots = process.env['SHOTS'];
    if (shots) await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
  }

  it.each(Object.keys(APPS))('are listed, connected and disconnected by keyboard: %s', async (app) => {
    await open(app);
    expect(await rows().allTextContents()).toEqual(['CorpMain accountada@corp.example']);
    await button('Connect GitHub').press('Enter');
    await says('GitHub is connected.');
    await rows().nth(1).waitFor();
    expect(await rows().allTextContents()).toEqual([
      'CorpMain accountada@corp.example',
      expect.stringMatching(/^GitHubocto@hub\.exampleConnected on .*Disconnect$/),
    ]);
    expect(await page.getByRole('button', { name: /^Connect/ }).allTextContents()).toEqual([
      'Connect The $& Forge',
    ]);
    await isFocused('Connect The $& Forge');
    expect(await joined()).toEqual(['stub', 'hub']);

    await button('Disconnect GitHub').press('Enter');
    await question().getByText('Disconnect GitHub (octo@hub.example)?').waitFor();
    await isFocused('Cancel');
    await page.keyboard.press('Escape');
    await isFocused('Disconnect GitHub');
    expect(await joined()).toEqual(['stub', 'hub']);
    await page.keyboard.press('Enter');
    await question().getByRole('button', { name: 'Disconnect' }).press('Enter');
    await says('GitHub is disconnected.');
    await button('Connect GitHub').waitFor();
    await isFocused('Connect GitHub');
    expect(await rows().count()).toBe(1);
    expect(await joined()).toEqual(['stub']);
    expect(await errors()).toEqual([]);
  });

  it('are disconnected if the question comes again right after a “no”', async () => {
    await open();
    await button('Connect GitHub').click();
    await says('GitHub is connected.');
    await page.evaluate(`{
      const root = document.querySelector('#root > div').shadowRoot;
      for (const css of ['li button', 'dialog button', 'li button']) root.querySelector(css).click();
    }`);
    await question().getByRole('button', { name: 'Disconnect' }).click();
    await says('GitHub is disconnected.');
    expect(await joined()).toEqual(['stub']);
  });

  it.each(['popup', 'redirect'])('are connected by %s, and the user is where they were', async (mode) => {
    await open('plain', `?mode=${mode}&page=2#accounts`);
    const before = page.url();
    await button('Connect GitHub').click();
    await says('GitHub is connected.');
    await rows().nth(1).waitFor();
    expect(page.url()).toBe(before);
    expect(await joined()).toEqual(['stub', 'hub']);
    await page.reload(); // what was said is not said again
    await rows().nth(1).waitFor();
    expect(await page.getByRole('status').textContent()).toBe('');
  });

  it('with a session in memory are connected by a window: the page is not left', async () => {
    await page.goto(`${pages.url}/plain?mode=redirect&storage=memory`);
    await page.evaluate(`latchkey.signIn({ mode: 'iframe' })`);
    await button('Connect GitHub').click();
    await says('GitHub is connected.');
  });

  it.each(['iframe', 'redirect'])(
    'that sign in as another user are merged after a question that names both: %s',
    async (mode) => {
      const other = await tokensAt(world.service, 'hub', octo);
      await open('plain', `?mode=${mode}`);
      await button('Connect GitHub').click();
      const asked = question().getByText('Merge GitHub (octo@hub.example) into Corp (ada@corp.example)?');
      await asked.waitFor();
      await isFocused('Cancel');
      expect(await findFaults()).toEqual([]);
      await page.keyboard.press('Enter');
      await asked.waitFor({ state: 'hidden' });
      await bearer(world.service.url, other.access_token).get('/me').expect(200);
      expect(await joined()).toEqual(['stub']);

      await button('Connect GitHub').click();
      await asked.waitFor();
      await question().getByRole('button', { name: 'Merge' }).click();
      await says('GitHub (octo@hub.example) is now part of this user.');
      await rows().nth(1).waitFor();
      await asked.waitFor({ state: 'hidden' });
      await bearer(world.service.url, other.access_token).get('/me').expect(401);
      expect((await tokensAt(world.service, 'hub', octo)).user_id).toBe((await stored()).user_id);
      expect(await errors()).toEqual([]);
    },
  );

  it('are not taken from another user', async () => {
    await link(world.service, await tokensAt(world.service, 'stub', `bob-${randomUUID()}`), 'hub', octo);
    await open();
    await button('Connect GitHub').click();
    await page.getByRole('alert').getByText('This account is connected to another user.').waitFor();
    expect(await errors()).toEqual(['identity_in_use']);
    expect(await joined()).toEqual(['stub']);
  });

  it('stay as they are if the user closes the dialog, or declines at the provider', async () => {
    const { answer } = hub;
    hub.answer = (_request, response) =>
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>Hello');
    await open();
    await button('Connect GitHub').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await isFocused('Connect GitHub');
    await page.waitForFunction(
      `!document.querySelector('#root > div').shadowRoot.querySelector('[aria-busy]')`,
    );
    expect([await errors(), await page.getByRole('alert').isVisible()]).toEqual([[], false]);

    hub.answer = (request, response) => {
      const { searchParams } = new URL(request.path, hub.url);
      const [to, state] = [searchParams.get('redirect_uri'), searchParams.get('state')];
      response.writeHead(302, { Location: `${to}?error=access_denied&state=${state}` }).end();
    };
    await button('Connect GitHub').click();
    await page.getByRole('alert').getByText('That did not work.').waitFor();
    expect(await errors()).toEqual(['access_denied']);
    hub.answer = answer;
    await button('Connect GitHub').click();
    await says('GitHub is connected.');
    expect(await page.getByRole('alert').isVisible()).toBe(false);
  });

  it.each([
    ['stub', 'reports no time of authentication'],
    ['timed', 'reports when the user has authenticated'],
  ])('change only after a new sign-in if the last one is old: %s, which %s', async (name) => {
    await open('plain', '', page, name);
    const before = await stored();
    await age();
    await button('Connect GitHub').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
    await says('GitHub is connected.');
    const after = await stored();
    expect(after.user_id).toBe(before.user_id);
    expect(after.refresh_token).not.toBe(before.refresh_token);
    await age();
    await button('Disconnect GitHub').click();
    await question().getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('dialog', { name: 'Sign in' }).getByRole('button', { name: 'Sign in' }).click();
    await says('GitHub is disconnected.');
    expect(await joined()).toEqual([name]);
  });

  it('are an error if the application asks for sign-ins itself', async () => {
    await open('plain', '?ask=no');
    await age();
    const code = `latchkey.link('hub').catch(({ code, status }) => [code, status])`;
    expect(await page.evaluate(code)).toEqual(['insufficient_user_authentication', 401]);
  });

  it('are connected in two tabs at once, each by its own state', async () => {
    const { answer } = hub;
    hub.answer = (request, response, raw) => {
      if (request.method !== 'GET') return answer(request, response, raw);
      const { searchParams } = new URL(request.path, hub.url);
      const to = `${searchParams.get('redirect_uri')}?code=${octo}&amp;state=${searchParams.get('state')}`;
      response.writeHead(200, { 'Content-Type': 'text/html' }).end(`<a href="${to}">Allow</a>`);
    };
    await open('plain', '?mode=redirect');
    const [other, third] = [await context.newPage(), await context.newPage()];
    await other.goto(`${pages.url}/plain?mode=redirect&other`);
    await button('Connect GitHub').click();
    await button('Connect The $& Forge', other).click();
    const allow = (on: Page): Locator => on.getByRole('link', { name: 'Allow' });
    await allow(other).waitFor();
    // The answer for one tab does nothing in another one.
    await third.goto((await allow(page).getAttribute('href'))!);
    await third.evaluate('latchkey.handleCallback()');
    await allow(page).click();
    await says('GitHub is connected.');
    expect(await joined()).toEqual(['stub', 'hub']);
    await allow(other).click();
    await says('The $& Forge is connected.', other);
    expect(other.url()).toMatch(/&other$/);
    expect(await joined()).toEqual(['stub', 'forge', 'hub']);
    await rows().nth(2).waitFor();
  });

  it('stay as they are in a session of a connected one', async () => {
    await link(world.service, await tokensAt(world.service, 'stub', ada), 'hub', octo);
    await open('plain', '', page, 'hub');
    await button('Connect The $& Forge').click();
    await page.getByRole('alert').getByText('sign in with your main account first').waitFor();
    await button('Disconnect GitHub').click();
    await question().getByRole('button', { name: 'Disconnect' }).click();
    await question().waitFor({ state: 'hidden' });
    await page.getByRole('alert').getByText('sign in with your main account first').waitFor();
    expect(await errors()).toEqual(['access_denied', 'access_denied']);
    expect(await joined()).toEqual(['stub', 'hub']);
  });

  it('load nothing until an application asks for them', async () => {
    const loaded: string[] = [];
    page.on('request', (request) => loaded.push(request.url()));
    await page.goto(`${pages.url}/bare`);
    await page.evaluate('latchkey.signIn()');
    await page.evaluate('latchkey.me()');
    const ours = (): string[] =>
      loaded
        .map((url) => new URL(url).pathname.replace(/-[A-Z\d]{8}\.js$/, ''))
        .filter((path) => /^\/(linking|identities)/.test(path))
        .toSorted();
    expect(ours()).toEqual([]);
    await page.goto(`${pages.url}/plain?locale=de`);
    await page.getByText('Hauptkonto').waitFor();
    expect(ours()).toEqual(['/identities', '/linking']);
  });

  it('change at once when another device changes them', async () => {
    await open();
    await until(() => page.evaluate(`latchkey.connect().then(({ connected }) => connected)`));
    const elsewhere = await tokensAt(world.service, 'stub', ada);
    await link(world.service, elsewhere, 'hub', octo);
    await rows().nth(1).waitFor();
    await button('Disconnect GitHub').focus();
    await bearer(world.service.url, elsewhere.access_token).delete('/me/identities/hub').expect(204);
    await rows().nth(1).waitFor({ state: 'detached' });
    await isFocused('Connect GitHub');
  });

  it.each([
    ['light', 'en'],
    ['dark', 'en'],
    ['dark', 'ar'],
  ] as const)('can be read at 360 px, %s, %s', async (colorScheme, locale) => {
    await page.emulateMedia({ colorScheme });
    await link(world.service, await tokensAt(world.service, 'stub', ada), 'hub', octo);
    await page.goto(`${pages.url}/bare`);
    await page.evaluate('latchkey.signIn()');
    await page.goto(`${pages.url}/plain?locale=${locale}`);
    // axe-core takes a page without a colour for white.
    await page.evaluate(
      `document.documentElement.style.cssText = 'color-scheme: ${colorScheme}; background: Canvas'`,
    );
    await page.getByText('octo@hub.example').waitFor();
    if (locale === 'ar') await page.getByText('الحساب الرئيسي').waitFor();
    await picture(`identities-${locale}-${colorScheme}`);
    expect(await findFaults()).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    await page.locator('li button').click();
    await question().waitFor();
    await picture(`identities-question-${locale}-${colorScheme}`);
    expect(await findFaults()).toEqual([]);
    await page.keyboard.press('Escape');
    await tokensAt(world.service, 'forge', octo);
    await page.locator('.add button').click();
    await question().locator('h2:visible').waitFor();
    await until(async () => (await question().textContent())!.includes('The $& Forge'));
    await picture(`identities-merge-${locale}-${colorScheme}`);
    expect(await findFaults()).toEqual([]);
  });
});
