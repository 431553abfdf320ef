import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { inChromium, launchChromium } from '../support/chromium.js';
import { ClientApp } from '../support/client-app.js';
import { until } from '../support/waiting.js';
import { useEach } from '../support/use.js';

const TOKENS = { access_token: 'access-secret', refresh_token: 'lkr_refresh-secret', expires_in: 3600 };
const WHO = { user_id: 'ada', device_id: '0b0e3c5e-6d51-4f0c-9d3c-6a3a4f4b7e11' };
const CODE = 'code-secret';

/** Lets every page read every answer, so that only the client itself can hold a token back. */
function allow(request: IncomingMessage, response: ServerResponse): boolean {
  response.setHeader('Access-Control-Allow-Origin', request.headers.origin ?? '*');
  response.setHeader('Access-Control-Allow-Headers', 'authorization, content-type');
  response.setHeader('Access-Control-Allow-Methods', 'GET, POST, PATCH, DELETE');
  if (request.method === 'OPTIONS') response.writeHead(204).end();
  return request.method === 'OPTIONS';
}

inChromium('the client, where the service answers with redirects', () => {
  let app: ClientApp;
  let browser: Browser;
  /** The server that the client takes for the service, and the address to which it redirects. */
  let moved: Server;
  let stranger: Server;
  /** The status of its redirects; undefined: it answers instead. */
  let status: number | undefined;
  let asked: string[];
  let arrived: string[];

  const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const answer = JSON.stringify({ ...TOKENS, ...WHO, access_token: 'another', devices: [] });

  beforeAll(async () => {
    stranger = createServer((request, response) => {
      arrived.push(`${request.method} ${request.url}`);
      if (!allow(request, response)) response.end(answer); // as if it were the service
    });
    moved = createServer((request, response) => {
      if (allow(request, response)) return;
      asked.push(`${request.method} ${request.url?.split('?')[0]}`);
      if (status) response.writeHead(status, { Location: urlOf(stranger) + request.url }).end();
      else response.end(answer);
    });
    moved.on('upgrade', (request, socket) => {
      asked.push(`WebSocket ${request.url?.split('?')[0]}`);
      socket.end(`HTTP/1.1 307 Moved\r\nLocation: ${urlOf(stranger)}${request.url}\r\n\r\n`);
    });
    for (const server of [moved, stranger])
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    app = await ClientApp.start();
    app.service = urlOf(moved);
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await app?.close();
    for (const server of [moved, stranger]) server?.close().closeAllConnections();
  });
  beforeEach(() => {
    [status, asked, arrived] = [307, [], []];
  });
  const context = useEach(() => browser.newContext());
  beforeEach(() => context.setDefaultTimeout(60_000));

  /** A page that is signed in. @param receivedAt when its access token came; milliseconds */
  async function open(receivedAt = Date.now()): Promise<Page> {
    const held = JSON.stringify({ ...TOKENS, ...WHO, received_at: receivedAt, signed_in_at: Date.now() });
    await context.addInitScript(`localStorage['latchkey:${app.service}'] ??= ${JSON.stringify(held)}`);
    const page = await context.newPage();
    await page.goto(`${app.url}/?options=%7B%7D`);
    return page;
  }
  const outcome = (page: Page, call: string): Promise<unknown> =>
    page.evaluate(`latchkey.${call}.then(() => 'done', ({ code }) => code)`);

  it.each([303, 307])('lets no %d take a bearer token along', async (code) => {
    status = code;
    const page = await open();
    for (const call of ['me()', 'devices()', `renameDevice('d', 'Kitchen')`, `removeDevice('d')`])
      expect([call, await outcome(page, call)]).toEqual([call, 'network']);
    expect(await page.evaluate(`of('signedOut')`)).toEqual([]);
    expect(await outcome(page, 'signOut()')).toBe('network');
    expect(asked.slice(0, 4)).toEqual(['GET /me', 'GET /devices', 'PATCH /devices/d', 'DELETE /devices/d']);
    // The dialog requests its buttons at the same time; the request may arrive after the sign-out's answer.
    await until(() => asked.length === 6);
    expect(asked.slice(4).toSorted()).toEqual(['GET /oauth2/providers', 'POST /sign-out']);
    expect(arrived).toEqual([]);
  });

  it('lets none take the refresh token along, tries again later, and signs nobody out', async () => {
    await context.clock.install();
    const page = await open(1); // its token is due
    const attempts = (): Promise<number> =>
      page.evaluate(`of('request').filter(({ path }) => path.endsWith('/refresh')).length`);
    await until(async () => (await attempts()) === 1);
    await until(async () => {
      await context.clock.fastForward('01:00'); // in vain while the page still waits for the first answer
      return (await attempts()) > 1;
    });
    expect(await outcome(page, 'accessToken()')).toBe('network');
    expect(await page.evaluate(`of('signedOut')`)).toEqual([]);
    expect(new Set(asked)).toEqual(new Set(['POST /oauth2/refresh']));
    expect(arrived).toEqual([]);

    status = undefined;
    expect(await page.evaluate('latchkey.accessToken()')).toBe('another');
    expect(await page.evaluate('latchkey.session.userId')).toBe('ada');
  });

  it('lets none take a sign-in along, and says that the service cannot be reached', async () => {
    const page = await context.newPage();
    await page.goto(`${app.url}/?options=%7B%7D`);
    await page.click('#in');
    await page.getByRole('alert').getByText('The sign-in service cannot be reached').waitFor();
    const redirectUri = `${app.url}/callback`;
    const begun = { state: '0f', verifier: 'v', redirectUri, mode: 'redirect', options: {} };
    const value = JSON.stringify({ ...begun, returnTo: `${app.url}/?options=%7B%7D` });
    await page.evaluate(
      `sessionStorage.setItem('latchkey:${app.service}:sign-in', ${JSON.stringify(value)})`,
    );
    await page.goto(`${app.url}/?code=${CODE}&state=0f`);
    await page.getByRole('alert').getByText('The sign-in service cannot be reached').waitFor();
    expect(new Set(asked)).toEqual(
      new Set(['GET /oauth2/providers', 'GET /oauth2/authorize', 'POST /oauth2/token']),
    );
    expect(arrived).toEqual([]);
    expect(await page.evaluate('latchkey.session')).toBeUndefined();
  });

  it('lets none lead its channel to another server', async () => {
    const page = await open();
    const tried = page.waitForEvent('websocket').then((socket) => socket.waitForEvent('socketerror'));
    await page.evaluate('void latchkey.connect()');
    await tried;
    expect(new Set(asked)).toEqual(new Set(['WebSocket /socket.io/']));
    expect(arrived).toEqual([]);
  });
});
