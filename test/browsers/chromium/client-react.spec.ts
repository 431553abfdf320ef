import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { bearer } from '../../support/sign-in.js';
import { inChromium, launchChromium } from '../../support/chromium.js';
import { PackageProject } from '../../support/package-project.js';
import { storeSession } from '../../support/client-app.js';
import { until } from '../../support/waiting.js';
import { createRequire } from 'node:module';
import { bundle, Pages } from '../bundle.js';
import { use, useService } from '../../support/use.js';

/** A client, and components that show everything that the hooks say. `listeners` mount and unmount by buttons. */
const appSource = (service: string): string => `
import { StrictMode, useState } from 'react';
import { createClient } from '@latchkey/client';
import {
  Devices, IdleNotice, LatchkeyProvider, ProviderButtons, SignedIn, SignedOut, SignInButton, useChannel, useLatchkey, UserButton, useSession,
  useUser,
} from '@latchkey/client/react';

export const latchkey = createClient({
  url: '${service}', provider: 'mock', redirectUri: '/callback/{provider}', askAgain: false,
});
if (globalThis.window) Object.assign(window, { latchkey, errors: [] });

function Who() {
  const session = useSession();
  return <p id="who">{session ? session.userId + ' until ' + session.expiresAt : String(session)}</p>;
}

function Listener({ name }) {
  const [heard, setHeard] = useState('');
  // With a handler of an earlier rendering, 'heard' would be the empty text again.
  const isLive = useChannel('note', (data) => setHeard(heard + data + ' '));
  return <p className="listener">{isLive ? 'live' : 'away'} {name}: {heard}</p>;
}

function Listeners() {
  const [count, setCount] = useState(2);
  return (
    <>
      <button onClick={() => setCount(count - 1)}>fewer</button>
      <button onClick={() => setCount(count + 1)}>more</button>
      {['one', 'two'].slice(0, count).map((name) => <Listener key={name} name={name} />)}
    </>
  );
}

export function App() {
  const [prompt, setPrompt] = useState();
  return (
    <StrictMode>
      <LatchkeyProvider client={latchkey}>
        <Who />
        <SignedIn>Welcome</SignedIn>
        <SignedOut>
          <SignInButton className="in" onError={({ code }) => errors.push(code)}>Enter</SignInButton>
          <ProviderButtons className="choices" prompt={prompt} onError={({ code }) => errors.push(code)} />
          <button onClick={() => setPrompt('login')}>strict</button>
          <SignInButton onClick={(event) => event.preventDefault()}>Never</SignInButton>
        </SignedOut>
        <Listeners />
      </LatchkeyProvider>
    </StrictMode>
  );
}

function Since() {
  const user = useUser();
  return <p id="since">{user ? user.user_id + ' since ' + user.created_at.slice(0, 4) : String(user)}</p>;
}

export function Account() {
  const [isShown, setShown] = useState(!globalThis.location?.hash);
  return (
    <StrictMode>
      <LatchkeyProvider client={latchkey}>
        <Since />
        <IdleNotice onError={({ code }) => errors.push(code)} />
        <button onClick={() => setShown(!isShown)}>toggle</button>
        {isShown && <><UserButton className="user" /><Devices className="devices" onError={({ code }) => errors.push(code)} /></>}
      </LatchkeyProvider>
    </StrictMode>
  );
}

export function Lonely() {
  useLatchkey();
}
`;
const BROWSER = `
import { createRoot, hydrateRoot } from 'react-dom/client';
import { Account, App, latchkey } from './app.js';
const root = document.getElementById('root');
if (location.pathname.startsWith('/callback')) latchkey.handleCallback().catch(() => {}); // tests open it by itself, too
else if (root.firstChild) hydrateRoot(root, <App />, { onRecoverableError: (error) => console.error(error) });
else createRoot(root).render(location.pathname === '/account' ? <Account /> : <App />);
`;
const SERVER = `
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { LatchkeyProvider } from '@latchkey/client/react';
import { App, Lonely } from './app.js';
export const html = renderToString(<App />);
export const failures = [<Lonely />, <LatchkeyProvider />].map((element) => {
  try {
    return renderToString(element);
  } catch ({ message }) {
    return message;
  }
});
`;

/** The application with one major version of React: at `/`, and at `/hydrated` with the HTML of a server. */
interface ReactApp {
  readonly pages: Pages;
  /** What the server has rendered. */
  readonly html: string;
  /** What rendering says without a provider, and to a provider without a client. */
  readonly failures: readonly string[];
}

async function startReactApp(version: 18 | 19, service: string): Promise<ReactApp> {
  const alias: Record<string, string> =
    version === 18 ? { react: 'react-18', 'react-dom': 'react-dom-18' } : {};
  const browser = await bundle({ 'main.jsx': BROWSER, 'app.jsx': appSource(service) }, { alias });
  const server = await bundle(
    { 'server.jsx': SERVER, 'app.jsx': appSource(service) },
    { alias, platform: 'node', format: 'cjs' },
  );
  const module = { exports: {} as Pick<ReactApp, 'html' | 'failures'> };
  // oxlint-disable-next-line typescript/no-implied-eval -- a module that is only a text
  new Function('require', 'module', [...server.values()][0]!)(createRequire(import.meta.url), module);
  const { html, failures } = module.exports;
  const pages = await Pages.start();
  for (const path of ['/', '/account', '/callback', '/callback/mock', '/callback/stub'])
    pages.put(path, browser);
  pages.put('/hydrated', browser, html);
  return { pages, html, failures };
}

const KEY = 'k'.repeat(32);

describe('@latchkey/client/react, packed', () => {
  let project: PackageProject;
  beforeAll(async () => {
    project = await PackageProject.install(['client'], 'module');
    for (const name of ['react', '@types/react', 'csstype']) await project.link(name);
  }, 120_000); // it may be the one that packs it
  afterAll(() => project?.remove());

  it('is for client components, wherever it is imported', async () => {
    expect(await readFile(join(project.place('client'), 'dist/react.js'), 'utf8')).toMatch(/^"use client";/);
  });

  it('knows the events of a client that is registered', async () => {
    const source = `
      import { createClient } from '@latchkey/client';
      import { LatchkeyProvider, useChannel, useLatchkey } from '@latchkey/client/react';
      interface MyEvents { 'order.paid': { total: number } }
      export const latchkey = createClient<MyEvents>({ url: 'u', provider: 'mock', redirectUri: '/' });
      declare module '@latchkey/client/react' {
        interface Register { client: typeof latchkey }
      }
      export function Orders() {
        const live: boolean = useChannel('order.paid', ({ total }, { offset }) => total.toFixed(offset ?? 0));
        useChannel('device.signed_in', ({ device_name }) => device_name?.length);
        // @ts-expect-error unknown event
        useChannel('order.lost', () => undefined);
        const same: typeof latchkey = useLatchkey();
        return <LatchkeyProvider client={same}>{live}</LatchkeyProvider>;
      }`;
    const without = `
      import { createClient } from '@latchkey/client';
      import { Devices, IdleNotice, LatchkeyProvider, ProviderButtons, SignedIn, SignInButton, useChannel, useClaims, UserButton, useSession, useUser } from '@latchkey/client/react';
      const latchkey = createClient<{ note: string }>({ url: 'u', provider: 'mock', redirectUri: '/' });
      export function App() {
        const session = useSession();        useChannel('any', (data: unknown) => data);
        const { roles = [], plan } = useClaims();
        const isPro: boolean = plan === 'pro' && roles.includes('admin');
        // @ts-expect-error a claim of any name has any type
        plan.length;
        const wanted: string | null | undefined = session && session.userId;
        const since: string | undefined = useUser()?.created_at;
        return <LatchkeyProvider client={latchkey}><SignedIn role="admin" children={isPro} /><SignInButton provider="corp" mode="popup" maxAge={60} title={wanted ?? ''} onError={({ code }) => code} /><ProviderButtons params={{ hd: 'x' }} /><UserButton provider className={since} /><Devices onError={({ code }) => code} /><IdleNotice onError={({ code }) => code} /></LatchkeyProvider>;
      }`;
    const options = { module: 'preserve', lib: ['es2022', 'dom'], jsx: 'react-jsx', skipLibCheck: true };
    expect(await project.typeCheck({ 'app.tsx': source }, options)).toBe('');
    expect(await project.typeCheck({ 'without.tsx': without }, options)).toBe('');
  });
});

inChromium('@latchkey/client/react', () => {
  let context: BrowserContext;
  /** Errors and warnings of the pages: React's are among them. */
  let complaints: string[];

  const { provider, service } = useService({ SERVICE_KEYS: KEY, SESSION_IDLE_TTL: '3600' });
  const browser = use(() => launchChromium());
  beforeAll(() => provider.signInAtOnce());

  const push = (user_id: string, data: string): Promise<unknown> =>
    bearer(service.url, KEY).post('/push').send({ user_id, event: 'note', data }).expect(202);

  describe.each([18, 19] as const)('with React %i, strictly', (version) => {
    let app: ReactApp;
    let page: Page;
    /** Connections to the channel, and how many are open. */
    let opened: number;
    let open: number;

    beforeAll(async () => {
      app = await startReactApp(version, service.url);
    });
    afterAll(() => app?.pages.close());
    beforeEach(async () => {
      context = await browser.newContext();
      context.setDefaultTimeout(60_000);
      complaints = [];
      [opened, open] = [0, 0];
      context.on('page', (made) => {
        made.on('pageerror', ({ message }) => complaints.push(message));
        made.on('console', (line) => {
          if (['error', 'warning'].includes(line.type())) complaints.push(line.text());
        });
        made.on('websocket', (socket) => {
          opened++;
          open++;
          socket.on('close', () => open--);
        });
      });
      page = await context.newPage();
    });
    afterEach(async () => {
      await context.close();
      expect(complaints).toEqual([]);
    });

    const says = (text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor();
    const listeners = (): Promise<string[]> => page.locator('.listener').allTextContents();
    /** A tab of the application that shows nothing of it. */
    const otherTab = async (): Promise<Page> => {
      const other = await context.newPage();
      await other.goto(`${app.pages.url}/callback`);
      return other;
    };

    it('shows the session: none; after the button; refreshed; signed out in another tab', async () => {
      await page.goto(app.pages.url);
      await says(/^null$/);
      expect(await page.getByText('Welcome').count()).toBe(0);
      await page.click('.in');
      const form = page.frameLocator('iframe');
      await form.getByLabel('User name').fill('ada');
      await form.getByLabel('Password').fill('analytical-engine');
      await form.getByLabel('Password').press('Enter');
      await says('Welcome');
      expect(await page.locator('.in').count()).toBe(0);

      const other = await otherTab();
      const before = await page.textContent('#who');
      await storeSession(other, service.url, 'ada', 3500); // refreshed as soon as a page sees it
      await until(async () => {
        const [, user, expiresAt] = /^(\S+) until (\d+)$/.exec((await page.textContent('#who'))!) ?? [];
        return !before!.startsWith(user!) && Number(expiresAt) > Date.now() + 3_500_000;
      });
      await other.evaluate('latchkey.signOut()');
      await says(/^null$/);
      expect(await page.getByText('Welcome').count()).toBe(0);
    });

    it('disables the button while the dialog is open, and restores its focus', async () => {
      await page.goto(app.pages.url);
      await page.getByText('Never').click();
      expect(await page.getByRole('dialog').count()).toBe(0);
      await page.focus('.in');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor();
      expect(await page.getAttribute('.in', 'aria-disabled')).toBe('true');
      await page.getByRole('button', { name: 'Close' }).click();
      await page.locator('.in:not([aria-disabled])').waitFor();
      expect(await page.evaluate('document.activeElement.className')).toBe('in');
      expect(await page.evaluate('errors')).toEqual([]); // who closes the dialog has made no error
    });

    it('shows a button for each provider, which signs in with the latest properties', async () => {
      await page.goto(app.pages.url);
      const buttons = page.locator('.choices').getByRole('button');
      await buttons.nth(1).waitFor();
      expect(await buttons.allTextContents()).toEqual([
        'Continue with Sample provider',
        'Continue with stub',
      ]);
      await page.getByText('strict').click();
      const asked = page.waitForRequest('**/oauth2/authorize?**');
      await page.getByText('Continue with stub').click();
      expect((await asked).url()).toMatch(/provider=stub&prompt=login&.*callback%2Fstub/);
      await says('Welcome');
      expect(await page.locator('.choices').count()).toBe(0);
    });

    it('delivers each event once to the latest handler, over one connection for all', async () => {
      await page.goto(`${app.pages.url}/callback`);
      const user = await storeSession(page, service.url, 'ada');
      await page.goto(app.pages.url);
      await says('live two:');
      expect(await listeners()).toEqual(['live one: ', 'live two: ']);
      await push(user, 'a');
      await push(user, 'b');
      await says('live two: a b');
      expect(await listeners()).toEqual(['live one: a b ', 'live two: a b ']);
      expect([opened, open]).toEqual([1, 1]);
    });

    it('stays connected from page to page, lets go after the last listener, and comes back', async () => {
      await page.clock.install();
      await page.goto(`${app.pages.url}/callback`);
      const user = await storeSession(page, service.url, 'ada');
      await page.goto(app.pages.url);
      await says('live two:');
      const press = (name: string): Promise<void> => page.getByText(name).click();
      await press('fewer');
      await press('fewer');
      await page.clock.runFor(4000);
      await press('more');
      await says('live one:');
      expect([opened, open]).toEqual([1, 1]);
      await press('fewer');
      await page.clock.runFor(6000);
      await until(() => open === 0);
      await press('more');
      await says('live one:');
      await push(user, 'again');
      await says('live one: again');
      expect([opened, open]).toEqual([2, 1]);
    });

    it('follows the user: no channel when signed out, another one for another user', async () => {
      await page.goto(app.pages.url);
      await says('away two:');
      const other = await otherTab();
      const ada = await storeSession(other, service.url, 'ada');
      await says('live two:');
      await push(ada, 'ada');
      await says('live two: ada');
      await other.evaluate('latchkey.signOut()');
      await says('away two:');
      const grace = await storeSession(other, service.url, 'grace');
      await says('live two:');
      await push(ada, 'not-for-grace');
      await push(grace, 'grace');
      await says('live two: ada grace');
      const linus = await storeSession(other, service.url, 'linus'); // with no sign-out between
      await until(() => opened === 3 && open === 1);
      await says('live two:');
      await push(linus, 'linus');
      await says('live two: ada grace linus');
    });

    it('shows the user and the devices as long as they are mounted, over one connection', async () => {
      await page.goto(`${app.pages.url}/callback`);
      const user = await storeSession(page, service.url, 'ada');
      await page.goto(`${app.pages.url}/account`);
      await page.getByText(`${user} since 20`).waitFor();
      const own = page.locator('.devices').getByRole('listitem').filter({ hasText: 'This device' });
      await own.getByText('Online').waitFor();
      await page
        .locator('.user')
        .getByRole('button', { name: /^Account/ })
        .waitFor();
      expect([opened, open]).toEqual([1, 1]);

      await page.getByText('toggle').click();
      await own.waitFor({ state: 'detached' });
      expect(await page.locator('.user').count()).toBe(0);
      await until(() => open === 0); // no component listens any more
      await page.getByText('toggle').click();
      await own.getByText('Online').waitFor();
      expect([opened, open]).toEqual([2, 1]);

      const other = await otherTab();
      await other.evaluate('latchkey.signOut()');
      await page.locator('#since').getByText('null').waitFor();
      await own.waitFor({ state: 'detached' });
      const grace = await storeSession(other, service.url, 'grace');
      await page.getByText(`${grace} since 20`).waitFor();
      await own.getByText('Online').waitFor();
      expect(await page.evaluate('errors')).toEqual([]);
    });

    it('asks whether the user is still there, a minute before the session ends', async () => {
      await page.clock.install();
      await page.goto(`${app.pages.url}/callback`);
      await storeSession(page, service.url, 'ada');
      const watched = page.waitForEvent('response', (answer) => answer.url().includes('idle-watch'));
      await page.goto(`${app.pages.url}/account`);
      await watched;
      await page.getByText(/since 20/).waitFor();
      await page.locator('.devices').getByText('This device').waitFor(); // an hour ends each request that has no answer yet
      await page.clock.fastForward('59:20');
      await page.getByRole('alertdialog', { name: 'Are you still there?' }).waitFor();
      const refreshed = page.waitForResponse(
        (answer) => answer.url().endsWith('/oauth2/refresh') && answer.ok(),
      );
      await page.getByRole('button', { name: 'Stay signed in' }).click();
      expect((await refreshed).request().postDataJSON()).toMatchObject({ idle_for: 0 });
      await page.getByRole('alertdialog').waitFor({ state: 'hidden' });
      expect(await page.evaluate('errors')).toEqual([]);
    });

    it('shows user and devices however often they mount while their code loads', async () => {
      await page.goto(`${app.pages.url}/callback`);
      await storeSession(page, service.url, 'ada');
      // The imports of a module settle in any order only while it loads, so each attempt has a page of its own.
      for (const times of [1, 1, 1, 1, 1, 1, 2, 3, 4, 5]) {
        const attempt = await context.newPage();
        await attempt.goto(`${app.pages.url}/account#hidden`);
        const toggle = attempt.getByText('toggle');
        await attempt.getByText(/since 20/).waitFor();
        await toggle.evaluate((button: { click(): void }, most) => {
          for (let n = 0; n < most; n++) setTimeout(() => button.click()); // React renders in between
        }, times);
        if (times % 2 === 0) await toggle.click();
        await attempt.locator('.user .opener').waitFor();
        await attempt.locator('.devices li').filter({ hasText: 'This device' }).getByText('Online').waitFor();
        expect(await attempt.evaluate('errors')).toEqual([]);
        await attempt.close();
      }
    });

    it('renders on a server without a session, and is hydrated without a warning', async () => {
      expect(app.html).toContain('undefined');
      expect(app.html).not.toMatch(/Welcome|Enter/);
      await page.goto(`${app.pages.url}/hydrated`);
      await says('Enter');
      await storeSession(page, service.url, 'ada');
      await page.reload();
      await says('Welcome');
      await says('live two:');
    });

    it('reports a missing provider or client', () => {
      expect(app.failures).toEqual([
        'No <LatchkeyProvider> above this component: add one',
        '<LatchkeyProvider> has no client: pass client={latchkey}',
      ]);
    });
  });
});
