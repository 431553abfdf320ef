import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Profile, Tab } from './browser.js';
import { ENGINE, launchEngine } from './engines.js';
import { waitFor } from './patience.js';

/** Pages that test what a browser allows, at two sites. */
class ForeignSite {
  private constructor(private readonly server: Server) {}

  static async start(): Promise<ForeignSite> {
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
      response.setHeader('Content-Type', 'text/html');
      if (pathname === '/cookie') response.setHeader('Set-Cookie', 'plain=1; Path=/');
      if (pathname === '/isolated') response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
      response.end(
        `<title>${pathname}</title><p>${request.headers.cookie ?? 'no cookie'}</p><a href="/next">next</a>
        ${searchParams.has('frame') ? `<iframe src="${searchParams.get('frame')}"></iframe>` : ''}
        ${pathname === '/unasked' ? `<script>window.opened = !!open('/', '', 'popup')</script>` : ''}`,
      );
    });
    await new Promise<void>((resolve) => server.listen(0, resolve));
    return new ForeignSite(server);
  }

  get here(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get there(): string {
    return `http://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** What docs/browsers.md says of each engine. */
const KNOWN: Record<string, object> = {
  // Cookies without SameSite count as Lax: they are not sent in a frame of another site.
  chromium: { set: 'no cookie', setBefore: 'no cookie', popupAfterAwait: true },
  // They are kept apart for each site that shows the frame.
  firefox: { set: 'plain=1', setBefore: 'no cookie', popupAfterAwait: true },
  // A frame of another site may not set cookies, but gets the site's own cookies.
  webkit: { set: 'no cookie', setBefore: 'plain=1', popupAfterAwait: false },
};

describe(`what the documents say of ${ENGINE}`, () => {
  let browser: Browser;
  let site: ForeignSite;
  let profile: Profile;

  beforeAll(async () => {
    site = await ForeignSite.start();
    browser = await launchEngine();
    profile = await browser.newProfile();
    console.log(browser.version);
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  const framed = (path: string, on = profile): Promise<Tab> =>
    on.open(`${site.here}/?frame=${encodeURIComponent(site.there + path)}`);
  const cookies = `document.querySelector('p')?.textContent`;
  /** Runs code at a click, as an application does. */
  const atClick = async (tab: Tab, code: string): Promise<void> => {
    await tab.evaluate(`void addEventListener('click', async () => { ${code} })`);
    await tab.click({ css: 'p' });
  };

  it('is so: cookies in frames of another site, windows after an answer was awaited', async () => {
    const tab = await framed('/cookie');
    await tab.frame.click({ css: 'a' });
    await waitFor(tab.frame, `document.title === '/next'`);
    const set = await tab.frame.evaluate(cookies);
    const another = await browser.newProfile();
    await another.open(`${site.there}/cookie`);
    const setBefore = await waitFor((await framed('/', another)).frame, cookies);
    await another.close();
    await tab.goto(site.here);
    await atClick(tab, `await fetch('/'); window.opened = !!open('/', '', 'popup')`);
    await waitFor(tab, `'opened' in window`);
    expect({ set, setBefore, popupAfterAwait: await tab.evaluate('opened') }).toEqual(KNOWN[ENGINE]);
  });

  it('is so in each of them: a site has another storage in a frame', async () => {
    const tab = await profile.open(site.there);
    await tab.evaluate(`void localStorage.setItem('of', 'itself')`);
    const found = await waitFor<string>((await framed('/')).frame, `String(localStorage.getItem('of'))`);
    expect(found).toBe('null');
  });

  it('is so in each of them: no window without a click', async () => {
    const tab = await profile.open(`${site.here}/unasked`);
    expect(await tab.evaluate('opened')).toBe(false);
  });

  it('is so in each of them: a popup of a page with COOP counts as closed, and has no opener any more', async () => {
    const tab = await profile.open(site.here);
    const popup = await tab.popup(() =>
      atClick(tab, `window.popup = open('', '', 'popup'); popup.location.replace('${site.there}/isolated')`),
    );
    await waitFor(popup, `document.title === '/isolated'`);
    await waitFor(tab, 'popup.closed');
    await popup.goto(site.here);
    expect(await popup.evaluate('String(opener)')).toBe('null');
    expect(await tab.evaluate('popup.closed')).toBe(true);
  });
});
