import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { inChromium, launchChromium } from '../support/chromium.js';
import { query } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { claimsOf } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';

const LIBRARY = new URL('../node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js', import.meta.url);

/** An application's page as docs/stock-clients.md has it: the metadata's address, and a scope without `openid`. */
const PAGE = `<!doctype html><title>App</title><script src="/oidc-client-ts.js"></script><script>
const dpop = new URLSearchParams(location.search).has('dpop') || sessionStorage.getItem('dpop');
if (dpop) sessionStorage.setItem('dpop', 'on');
window.manager = new oidc.UserManager({
  authority: 'SERVICE',
  metadataUrl: 'SERVICE/.well-known/oauth-authorization-server',
  client_id: 'an app',
  redirect_uri: location.origin + '/callback',
  scope: 'profile',
  automaticSilentRenew: false,
  ...(dpop && { dpop: { store: new oidc.IndexedDbDPoPStore() } }),
});
window.signedIn = location.pathname === '/callback' ? manager.signinRedirectCallback() : new Promise(() => {});
</script>`;

/** What the page's scripts have, as far as this file names it. */
interface OfPage {
  readonly manager: {
    signinRedirect(): Promise<void>;
    signinSilent(): Promise<{ access_token: string }>;
    revokeTokens(types: string[]): Promise<void>;
  };
  readonly signedIn: Promise<{ access_token: string; refresh_token: string; expires_in: number }>;
}

inChromium('oidc-client-ts, in a browser', () => {
  let provider: StubProvider;
  let service: TestService;
  let app: Server;
  let url: string;
  let browser: Browser;

  beforeAll(async () => {
    provider = await StubProvider.start();
    provider.signInAtOnce();
    service = await startTestService({ ...provider.env(), PROVIDERS_MOCK_ENABLED: 'false' });
    const library = await readFile(LIBRARY);
    app = createServer(({ url: path }, response) => {
      const isLibrary = path === '/oidc-client-ts.js';
      response.setHeader('Content-Type', isLibrary ? 'text/javascript' : 'text/html');
      response.end(isLibrary ? library : PAGE.replaceAll('SERVICE', service.url));
    });
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    app?.close();
    await service?.close();
    await provider?.close();
  });

  async function signIn(page: Page, from: string): Promise<{ access_token: string; refresh_token: string }> {
    await page.goto(from);
    await page.evaluate(() => void (globalThis as unknown as OfPage).manager.signinRedirect());
    await page.waitForURL(/\/callback\?/);
    return page.evaluate(() => (globalThis as unknown as OfPage).signedIn);
  }

  it.each([
    ['a session without a key', '/', null],
    ['a session that is bound to a key (DPoP)', '/?dpop', expect.any(Buffer)],
  ])('signs in, refreshes and revokes: %s', async (_name, path, jkt) => {
    const page = await browser.newPage();
    const { access_token } = await signIn(page, url + path);
    const { sub, sid } = claimsOf(access_token);
    const sessions = await query(
      service.databaseUrl,
      'SELECT jkt FROM refresh_tokens WHERE user_id = $1 AND session_id = $2',
      [sub, sid],
    );
    expect(sessions).toEqual([{ jkt }]);

    const silently = (): Promise<string> =>
      page.evaluate(() =>
        (globalThis as unknown as OfPage).manager.signinSilent().then(
          (user) => user.access_token,
          (error: { error: string }) => error.error,
        ),
      );
    const refreshed = await silently();
    expect(claimsOf(refreshed)).toMatchObject({ sub, sid, client_id: 'latchkey' });
    await page.evaluate(() => (globalThis as unknown as OfPage).manager.revokeTokens(['refresh_token']));
    const me = await fetch(`${service.url}/me`, { headers: { Authorization: `Bearer ${refreshed}` } });
    expect(me.status).toBe(401);
    await page.close();
  });
});
