import { randomUUID } from 'node:crypto';
import axe from 'axe-core';
import type { Locator, Page } from 'playwright-core';
import { Agent, agentsFile, AGENTS, OTHER_API } from '../../agents/agent.js';
import { Employee, idJagEnv, now, type Claims } from '../../agents/assertions.js';
import { inChromium, launchChromium } from '../../support/chromium.js';
import { storeSession, storeTokens } from '../../support/client-app.js';
import { OpenIdStub } from '../../support/openid-stub.js';
import { bearer, claimsOf } from '../../support/sign-in.js';
import { bundle, Pages } from '../bundle.js';
import { use, useEach, useService } from '../../support/use.js';

/** Of the browser. */
declare const getComputedStyle: (element: unknown) => Readonly<Record<string, string>>;

/** As an application shows the devices: without a framework, and with two. */
const APPS: Readonly<Record<string, string>> = {
  plain: `latchkey.showDevices(document.getElementById('root'));`,
  React: `
    import { createElement } from 'react';
    import { createRoot } from 'react-dom/client';
    import { Devices, LatchkeyProvider } from '@latchkey/client/react';
    createRoot(document.getElementById('root')).render(
      createElement(LatchkeyProvider, { client: latchkey }, createElement(Devices)),
    );`,
  Vue: `
    import { createApp, h, onMounted, onUnmounted, ref } from 'vue';
    createApp({
      setup() {
        const place = ref();
        let remove;
        onMounted(() => (remove = latchkey.showDevices(place.value)));
        onUnmounted(() => remove.then((stop) => stop()));
        return () => h('div', { ref: place });
      },
    }).mount('#root');`,
};
const CLIENT = (url: string): string => `
  import { createClient } from '@latchkey/client';
  const locale = new URLSearchParams(location.search).get('locale') ?? 'en';
  const latchkey = createClient({ url: '${url}', provider: 'stub', redirectUri: '/callback', locale });
`;
/** The provider of persons who are asked themselves. */
const STUB = { provider: 'stub' };
/** The list is loaded twice a minute, too: without that, it changes by events alone. */
const NO_POLLING = `
  const every = setInterval;
  window.setInterval = (work, time, ...more) => (time === 30_000 ? 0 : every(work, time, ...more));
`;

/** “Programs that act for you” in the SDK's list of devices (docs/frontend.md#the-users-account). */
inChromium('the programs in the list of devices', () => {
  let page: Page;
  let user: string;
  /** Requests for the programs that the user may allow again. */
  let refusedReads: number;

  const issuer = use(() => OpenIdStub.start());
  const { provider, service } = useService(() => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    ...idJagEnv('CORP', issuer.url),
    AGENTS_FILE: agentsFile(),
  }));
  beforeAll(() => provider.signInAtOnce(() => user));
  const pages = use(() => Pages.start());
  const browser = use(() => launchChromium());
  const context = useEach(() =>
    browser.newContext({ viewport: { width: 360, height: 740 }, reducedMotion: 'reduce' }),
  );
  beforeAll(async () => {
    for (const [name, source] of Object.entries(APPS)) {
      pages.put(`/${name}`, await bundle({ [`${name}.js`]: CLIENT(service.url) + source }));
    }
    pages.put('/empty', new Map([['/empty.js', '']]));
  });
  beforeEach(async () => {
    user = randomUUID();
    context.setDefaultTimeout(20_000);
    page = await context.newPage();
    refusedReads = 0;
    page.on('request', (request) => {
      if (request.url().endsWith('/devices/refused')) refusedReads++;
    });
    await page.addInitScript(NO_POLLING);
    // It comes first, and loads the list as well, perhaps too early to find a program.
    await page.routeWebSocket('**/socket.io/**', (socket) => {
      socket.connectToServer().onMessage((message) => {
        if (!message.toString().includes('device.signed_in')) socket.send(message);
      });
    });
  });

  /** Opens an application, signed in and connected. */
  async function open(name: string): Promise<void> {
    await page.goto(`${pages.url}/empty`);
    await storeSession(page, service.url, user);
    await page.goto(`${pages.url}/${name}`);
  }
  const isLive = (): Promise<void> =>
    page.getByRole('listitem').filter({ hasText: 'This device' }).getByText('Online').waitFor();
  const programs = (): Locator => page.getByRole('list', { name: 'Programs that act for you' });
  const devices = (): Locator => page.getByRole('list', { name: 'Devices', exact: true }).first();
  const endButton = (): Locator => page.getByRole('button', { name: /^End Web Agent/ });
  async function picture(name: string): Promise<void> {
    const shots = process.env['SHOTS'];
    if (shots) await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
  }
  async function findFaults(): Promise<unknown[]> {
    await page.evaluate(axe.source);
    const rules = `{ region: { enabled: false }, 'page-has-heading-one': { enabled: false }, 'landmark-one-main': { enabled: false }, 'heading-order': { enabled: false } }`;
    const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(document, { rules: ${rules} })`);
    return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
  }

  it.each(Object.keys(APPS))(
    'appear at once apart from devices, and are ended by the user: %s',
    async (app) => {
      await open(app);
      await isLive();
      expect(await programs().count()).toBe(0);
      const agent = new Agent(service.url, AGENTS.web);
      const tokens = await agent.allowed(STUB, ['orders:read']);
      await programs().getByRole('listitem').waitFor();
      expect(await programs().getByRole('listitem').allTextContents()).toEqual([
        expect.stringMatching(/^Web Agentweb-agentAt api\.example\/mcp: orders:readAllowed on /),
      ]);
      expect(await devices().getByRole('listitem').count()).toBe(1);

      await endButton().click();
      await page.getByRole('group', { name: 'End the access of Web Agent?' }).waitFor();
      await page.keyboard.press('Escape');
      expect((await agent.refresh(tokens)).status).toBe(200);
      await endButton().click();
      const question = page.getByRole('group', { name: 'End the access of Web Agent?' });
      await question.getByRole('button', { name: 'End', exact: true }).click();
      await page.getByRole('status').getByText('Web Agent cannot act for you any more.').waitFor();
      await programs().waitFor({ state: 'detached' });
      expect((await agent.refresh(tokens)).status).toBe(401);
      expect(refusedReads).toBe(0);
    },
  );

  it('disappear at once when they are ended elsewhere', async () => {
    const { access_token } = await new Agent(service.url, AGENTS.web).allowed(STUB);
    await open('plain');
    await isLive();
    await endButton().waitFor();
    const other = await new Agent(service.url, AGENTS.cli).allowed(STUB);
    await programs().getByRole('listitem').nth(1).waitFor();
    const stored = await page.evaluate<string>(`localStorage.getItem('latchkey:${service.url}')`);
    const { access_token: own } = JSON.parse(stored) as { access_token: string };
    const { device_id } = claimsOf(access_token);
    await bearer(service.url, own)
      .delete(`/devices/${device_id as string}`)
      .expect(204);
    await endButton().waitFor({ state: 'detached' });
    expect(await programs().getByRole('listitem').allTextContents()).toEqual([
      expect.stringMatching(/^CLI Agent/),
    ]);
    expect(claimsOf(other.access_token)).toMatchObject({ client_id: 'cli-agent' });
  });

  /** Opens the page as a person who has ended a program that the provider allows. @param also claims of a second one */
  async function openStopped(locale: string, also?: Claims): Promise<Employee> {
    const person = new Employee(issuer, service.url);
    const [phone, browserId] = [await person.signIn(), randomUUID()];
    const { body } = await person.exchange(person.assertion()).expect(200);
    const { device_id } = claimsOf(body.access_token as string);
    await bearer(service.url, phone.access_token)
      .delete(`/devices/${device_id as string}`)
      .expect(204);
    if (also) await person.exchange(person.assertion(also)).expect(200);
    await page.goto(`${pages.url}/empty`);
    await storeTokens(page, service.url, await person.signIn({}, browserId), browserId);
    await page.goto(`${pages.url}/plain?locale=${locale}`);
    return person;
  }
  const stopped = (): Locator => page.getByRole('list', { name: 'Stopped programs' });

  it('are listed after the end if the provider allows them, and allowed again', async () => {
    const person = await openStopped('en');
    const later = () => person.assertion({ iat: now() + 2 }); // than the end, by the provider's clock
    await stopped().waitFor();
    expect(await stopped().getByRole('listitem').allTextContents()).toEqual([
      expect.stringMatching(/^Secret Agentsecret-agentapi\.example\/mcpStopped on .*Allow again$/),
    ]);
    expect(await programs().count()).toBe(0);
    await person.exchange(later()).expect(401);

    await page.getByRole('button', { name: 'Allow again: Secret Agent, api.example/mcp' }).click();
    await page.getByRole('status').getByText('Secret Agent may act for you again.').waitFor();
    await stopped().waitFor({ state: 'detached' });
    await person.exchange(later()).expect(200);
    await page.getByRole('button', { name: /^End Secret Agent/ }).click();
    const question = page.getByRole('group', { name: 'End the access of Secret Agent?' });
    await question.getByRole('button', { name: 'End', exact: true }).click();
    await stopped().waitFor();
    await programs().waitFor({ state: 'detached' });
  });

  it.each([
    ['light', 'en'],
    ['dark', 'en'],
    ['light', 'ar'],
  ] as const)('that were ended can be read at 360 px, %s, %s', async (colorScheme, locale) => {
    await page.emulateMedia({ colorScheme });
    await openStopped(locale, { resource: OTHER_API, scope: 'notes:read' });
    await page.evaluate(
      `document.documentElement.style.cssText = 'color-scheme: ${colorScheme}; background: Canvas'`,
    );
    await page.getByText('other.example').waitFor();
    await page.getByText('api.example/mcp').waitFor();
    await picture(`allow-again-${locale}-${colorScheme}`);
    expect(await findFaults()).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  });

  it.each([
    ['light', 'en'],
    ['dark', 'en'],
    ['light', 'ar'],
  ] as const)('can be read at 360 px, %s, %s', async (colorScheme, locale) => {
    await page.emulateMedia({ colorScheme });
    await new Agent(service.url, AGENTS.web).allowed(STUB);
    await open(`plain?locale=${locale}`);
    // axe-core takes a page without a colour for white.
    await page.evaluate(
      `document.documentElement.style.cssText = 'color-scheme: ${colorScheme}; background: Canvas'`,
    );
    const row = page.getByRole('listitem').filter({ hasText: 'Web Agent' });
    await row.waitFor();
    if (locale === 'ar') {
      await page.getByRole('heading', { name: 'البرامج التي تعمل نيابة عنك' }).waitFor();
      expect(await row.evaluate((element) => getComputedStyle(element).direction)).toBe('rtl');
    }
    await picture(`programs-${locale}-${colorScheme}`);
    expect(await findFaults()).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  });
});
