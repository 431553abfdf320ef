import type { Browser, Page } from 'playwright-core';
import express from 'express';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { authenticate, requireRecentAuth } from '../../../packages/server/src/express.js';
import { createVerifier, type Verifier } from '../../../packages/server/src/index.js';
import { inChromium, launchChromium } from '../../support/chromium.js';
import { ClientApp } from '../../support/client-app.js';
import { query } from '../../support/database.js';
import { OidcIssuer, TamperingProxy } from '../../support/oidc-issuer.js';
import { startTestService, type TestService } from '../../support/service.js';
import { claimsOf } from '../../support/sign-in.js';
import { reissue } from '../../support/signing-key.js';
import { until } from '../../support/waiting.js';
import { bundle, Pages } from '../bundle.js';
import { useEach } from '../../support/use.js';

const KEY = 'k'.repeat(32);
const ago = (seconds: number): number => Math.floor(Date.now() / 1000) - seconds;

/**
 * Application, API of another origin, service, and a real OpenID provider with people who choose who they are
 * (docs/guides/step-up.md#in-the-page).
 */
inChromium('step-up', () => {
  let proxy: TamperingProxy;
  let issuer: OidcIssuer;
  let service: TestService;
  let app: ClientApp;
  let react: Pages;
  let verifier: Verifier;
  let api: Server;
  let apiUrl: string;
  let browser: Browser;
  /** Handled payments: session and body. */
  let paid: { sid: string; body: unknown }[];
  /** What the provider says in its next ID tokens, unless it is the truth. */
  let said: Record<string, unknown>;

  beforeAll(async () => {
    proxy = await TamperingProxy.start();
    issuer = await OidcIssuer.start(proxy.url);
    proxy.target = issuer.port;
    [app, react, browser] = await Promise.all([ClientApp.start(), Pages.start(), launchChromium()]);
    service = await startTestService({
      PROVIDERS_CORP_ADAPTER: 'oidc',
      PROVIDERS_CORP_URL: proxy.url,
      PROVIDERS_CORP_CLIENT_ID: 'latchkey',
      PROVIDERS_CORP_CLIENT_SECRET: 'a client secret of the issuer',
      SERVICE_KEYS: KEY,
    });
    app.service = service.url;
    issuer.restart({ client: { redirect_uris: [`${app.url}/callback`, `${react.url}/callback`] } });
    proxy.intercept = (path, response) => {
      if (!/^\/interaction\/[^?]+$/.test(path)) return false;
      const links = ['ada', 'bob'].map((name) => `<p><a href="${path}?login=${name}">${name}</a></p>`);
      response.writeHead(200, { 'Content-Type': 'text/html' }).end(links.join(''));
      return true;
    };
    proxy.tamper = (path, body) =>
      path === '/token'
        ? { ...body, id_token: reissue(body['id_token'] as string, issuer.key, said) }
        : undefined;
    verifier = createVerifier({ issuer: service.url, serviceKey: KEY });
    const payments = express()
      .use((request, response, next) => {
        response.setHeader('Access-Control-Allow-Origin', request.headers.origin ?? '*');
        response.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type');
        response.setHeader('Access-Control-Expose-Headers', 'WWW-Authenticate');
        if (request.method === 'OPTIONS') response.end();
        else next();
      })
      .use(express.text(), authenticate(verifier))
      .get('/orders', (_request, response) => void response.json([]))
      .use('/now', requireRecentAuth({ maxAge: 0 }))
      .use('/pay', requireRecentAuth({ maxAge: 300 }))
      .use('/gold', requireRecentAuth({ acr: 'gold' }))
      .post(['/now', '/pay', '/gold'], ({ claims, body }, response) => {
        paid.push({ sid: claims.sid, body: body as unknown });
        response.json({ paid: body as unknown });
      });
    api = payments.listen(0, '127.0.0.1');
    await once(api, 'listening');
    apiUrl = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
    const source = `
      import { StrictMode, useState } from 'react';
      import { createRoot } from 'react-dom/client';
      import { createClient } from '@latchkey/client';
      import { LatchkeyProvider, SignInButton, useSession, useStepUp } from '@latchkey/client/react';
      const latchkey = createClient({ url: '${service.url}', provider: 'corp', redirectUri: '/callback' });
      function Limits() {
        const stepUp = useStepUp();
        const session = useSession();
        const [said, setSaid] = useState('');
        if (!session) return <SignInButton>Enter</SignInButton>;
        const ask = () => stepUp({ acrValues: 'gold' }).then(() => setSaid('form'), ({ code }) => setSaid(code));
        return <><button onClick={ask}>Limits</button><p>{said}</p></>;
      }
      if (location.pathname === '/callback') latchkey.handleCallback();
      else createRoot(document.getElementById('root')).render(<StrictMode><LatchkeyProvider client={latchkey}><Limits /></LatchkeyProvider></StrictMode>);`;
    const script = await bundle({ 'main.jsx': source });
    for (const path of ['/', '/callback']) react.put(path, script);
    await until(() => verifier.isNotified);
  });
  afterAll(async () => {
    verifier?.close();
    await browser?.close();
    api?.closeAllConnections();
    api?.close();
    await app?.close();
    await react?.close();
    await service?.close();
    await issuer?.close();
    await proxy?.close();
  });
  beforeEach(() => {
    paid = [];
    said = { auth_time: ago(1000), acr: 'silver' };
  });
  const context = useEach(() => browser.newContext({ viewport: { width: 500, height: 640 } }));
  beforeEach(() => context.setDefaultTimeout(60_000));

  async function open(options: object = {}): Promise<Page> {
    const page = await context.newPage();
    const all = { provider: 'corp', mode: 'popup', locale: 'en', fetchOrigins: [apiUrl], ...options };
    await page.goto(`${app.url}/?options=${encodeURIComponent(JSON.stringify(all))}`);
    return page;
  }
  /** Clicks, and chooses a user in the window that opens, if the provider asks. */
  async function enter(page: Page, button: string, name?: string): Promise<void> {
    const [popup] = await Promise.all([
      context.waitForEvent('page'),
      page.getByRole('button', { name: button, exact: true }).click(),
    ]);
    if (name !== undefined) await popup.getByRole('link', { name }).click();
    if (!popup.isClosed()) await popup.waitForEvent('close');
  }
  async function signedIn(options: object = {}): Promise<Page> {
    const page = await open(options);
    await enter(page, 'Enter', 'ada');
    await page.getByText('signed in as').waitFor();
    await page.waitForFunction('latchkey.session.username');
    said = {}; // from now on the truth
    return page;
  }
  /** Begins requests to the API; their outcomes are in `outcomes`, which is returned by `outcomes()`. */
  const pay = (page: Page, ...paths: string[]): Promise<void> =>
    page.evaluate(`void (window.outcomes = Promise.all(${JSON.stringify(paths)}.map(async (path, i) => {
      const answer = await latchkey.fetch('${apiUrl}' + path, { method: 'POST', body: i + ' EUR' });
      return answer.status + ' ' + await answer.text();
    })))`);
  const outcomes = (page: Page): Promise<string[]> => page.evaluate('outcomes');
  const stored = (page: Page): Promise<{ access_token: string; refresh_token: string }> =>
    page.evaluate(`JSON.parse(localStorage.getItem('latchkey:${service.url}'))`);
  const asks = (page: Page): Promise<void> =>
    page.getByRole('dialog').getByText('For this, please sign in again.').waitFor();
  const sidOf = (token: string): string => claimsOf(token)['sid'] as string;
  const signedOut = (page: Page): Promise<unknown[]> => page.evaluate(`of('signedOut')`);
  const events = (sid: string): Promise<unknown[]> =>
    query(service.databaseUrl, `SELECT event, reason FROM audit_events WHERE session_id = $1 ORDER BY at`, [
      sid,
    ]);
  const picture = (page: Page, name: string): Promise<unknown> | undefined =>
    process.env['PICTURES'] === undefined
      ? undefined
      : page.screenshot({ path: `${process.env['PICTURES']}/${name}.png` });

  it('asks the user once for several requests, replaces the session in all tabs, and ends the old one', async () => {
    const page = await signedIn();
    const other = await open();
    for (const tab of [page, other])
      await tab.evaluate('latchkey.connect().then((channel) => void (window.channel = channel))');
    const old = await stored(page);
    await pay(page, '/pay', '/pay', '/pay');
    await asks(page);
    await picture(page, 'step-up');
    expect(await page.getByRole('dialog').count()).toBe(1);
    expect(paid).toEqual([]);
    await enter(page, 'Sign in');
    expect(await outcomes(page)).toEqual(['0', '1', '2'].map((i) => `200 {"paid":"${i} EUR"}`));
    const now = await stored(page);
    expect(sidOf(now.access_token)).not.toBe(sidOf(old.access_token));
    expect(paid.map(({ sid }) => sid)).toEqual(Array.from({ length: 3 }, () => sidOf(now.access_token)));
    await until(async () => (await events(sidOf(old.access_token))).length === 2);
    expect(await events(sidOf(old.access_token))).toEqual([
      { event: 'sign_in', reason: 'first sign-in' },
      { event: 'sign_out', reason: 'replaced' },
    ]);
    const orders = async ({ access_token }: { access_token: string }): Promise<number> =>
      (await fetch(`${apiUrl}/orders`, { headers: { Authorization: `Bearer ${access_token}` } })).status;
    await until(async () => (await orders(old)) === 401);
    expect(await orders(now)).toBe(200);

    // Nobody was signed out; the other tab needs no dialog, and both are connected again.
    await pay(other, '/pay');
    expect(await outcomes(other)).toEqual(['200 {"paid":"0 EUR"}']);
    const { sub } = claimsOf(now.access_token);
    for (const tab of [page, other]) {
      await tab.evaluate(`channel.on('note', (data) => void (window.note = data))`);
      await tab.waitForFunction('channel.connected');
    }
    await verifier.push({ userId: sub as string, event: 'note', data: 'hello' });
    for (const tab of [page, other]) {
      await tab.waitForFunction(`window.note === 'hello'`);
      expect(await signedOut(tab)).toEqual([]);
      // The name does not flicker.
      const names: string[] = await tab.evaluate(`of('change').map((session) => session?.username)`);
      expect(names.slice(names.indexOf('ada'))).toEqual(names.filter((name) => name === 'ada'));
    }
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('returns the API’s answer if the user closes the dialog, and asks for the class that the API names', async () => {
    const page = await signedIn();
    await pay(page, '/gold', '/gold');
    await asks(page);
    await page.getByRole('button', { name: 'Close' }).click();
    const refused =
      '401 {"error":"insufficient_user_authentication","error_description":"the user has to sign in again for this"}';
    expect(await outcomes(page)).toEqual([refused, refused]);
    expect(await page.getByRole('dialog').count()).toBe(0);

    said = { acr: 'silver' };
    await pay(page, '/gold');
    await asks(page);
    await enter(page, 'Sign in'); // the provider signs the user in, but not as it was asked
    await page.getByRole('alert').waitFor();
    said = { acr: 'gold' };
    await enter(page, 'Try again');
    expect(await outcomes(page)).toEqual(['200 {"paid":"0 EUR"}']);
    expect(await signedOut(page)).toEqual([]);
  });

  it('refuses another user: the session stays, and that of the other user ends', async () => {
    const page = await signedIn();
    const { access_token: old } = await stored(page);
    await pay(page, '/now');
    await asks(page);
    const answered = page.waitForResponse((answer) => answer.url().endsWith('/oauth2/token'));
    await context.clearCookies(); // the provider would ask whether to sign ada out
    await enter(page, 'Sign in', 'bob');
    await page.getByRole('alert').getByText('You signed in as another user').waitFor();
    await picture(page, 'other-user');
    const { access_token: others } = (await (await answered).json()) as { access_token: string };
    await until(async () => (await events(sidOf(others))).length === 2);
    expect(await events(sidOf(others))).toMatchObject([
      { event: 'sign_in' },
      { event: 'sign_out', reason: 'user' },
    ]);
    expect(await events(sidOf(old))).toHaveLength(1);
    expect((await stored(page)).access_token).toBe(old);

    await context.clearCookies();
    await enter(page, 'Try again', 'ada');
    expect(await outcomes(page)).toEqual(['200 {"paid":"0 EUR"}']);
    expect(sidOf((await stored(page)).access_token)).not.toBe(sidOf(old));
    await until(async () => (await events(sidOf(old))).length === 2);
  });

  it('by a redirect: the page is left, and the session is replaced when it is loaded again', async () => {
    const page = await signedIn();
    const { access_token: old } = await stored(page);
    await page.goto(page.url().replace('popup', 'redirect'));
    await pay(page, '/now');
    await asks(page);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('link', { name: 'ada' }).click();
    await page.waitForFunction(`window.latchkey && of('progress').includes('signed-in')`);
    expect(sidOf((await stored(page)).access_token)).not.toBe(sidOf(old));
    await until(async () => (await events(sidOf(old))).length === 2);
    await pay(page, '/now');
    expect(await outcomes(page)).toEqual(['200 {"paid":"0 EUR"}']);
  });

  it('in React: useStepUp() asks before a form is shown, in the window that the click opens, and only if it must', async () => {
    const page = await context.newPage();
    await page.goto(react.url);
    await enter(page, 'Enter', 'ada');
    await page.getByRole('button', { name: 'Limits' }).waitFor();
    said = { acr: 'gold' };
    await enter(page, 'Limits');
    await page.getByText('form').waitFor();
    const windows = context.pages().length;
    await page.reload();
    await page.getByRole('button', { name: 'Limits' }).click();
    await page.getByText('form').waitFor();
    expect(context.pages()).toHaveLength(windows);
  });
});
