import { fileURLToPath } from 'node:url';
import request from 'supertest';
import { inChromium, launchChromium } from '../support/chromium.js';
import { ClientApp } from '../support/client-app.js';
import { query } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { authorization } from '../support/sign-in.js';
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { prepare, use } from '../support/use.js';

/** A CAS server, protocol 3: it signs every visitor in at once, as `ada`. Tickets are good once, for their service alone. */
class CasServer {
  readonly requests: string[] = [];
  private readonly tickets = new Map<string, string>();

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<CasServer> {
    const server = createServer((incoming, response) => {
      const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://cas');
      it.requests.push(pathname);
      const service = searchParams.get('service') ?? '';
      if (pathname === '/cas/login') {
        const ticket = `ST-${it.tickets.size + 1}-${randomBytes(20).toString('base64url')}-cas`;
        it.tickets.set(ticket, service);
        // After the query of the service URL (§2.2.4).
        const location = `${service}${service.includes('?') ? '&' : '?'}ticket=${ticket}`;
        response.writeHead(302, { Location: location }).end();
        return;
      }
      const isValidation = pathname === '/cas/p3/serviceValidate' && searchParams.get('format') === 'JSON';
      response.writeHead(isValidation ? 200 : 404, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(it.validate(searchParams.get('ticket') ?? '', service)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const it = new CasServer(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/cas`);
    return it;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private validate(ticket: string, service: string): object {
    const of = this.tickets.get(ticket);
    this.tickets.delete(ticket); // one attempt only (§2.5)
    const code = of === undefined ? 'INVALID_TICKET' : 'INVALID_SERVICE';
    if (of !== service) return { serviceResponse: { authenticationFailure: { code, description: 'no' } } };
    const attributes = {
      displayName: ['Ada Lovelace'],
      mail: 'ada@campus.example',
      memberOf: ['staff', 'all'],
    };
    return { serviceResponse: { authenticationSuccess: { user: 'ada', attributes } } };
  }
}

const ADAPTER = fileURLToPath(new URL('../../examples/provider-adapter/cas.js', import.meta.url));
const REDIRECT_URI = 'https://app.example/cb?a=1&b=%20x';

/** CAS, by the example adapter: a provider that knows no state, and brings a ticket instead of a code (docs/providers.md). */
describe('CAS', () => {
  const cas = use(() => CasServer.start());
  const service = use(() =>
    startTestService({
      'providers.campus.adapter': ADAPTER,
      'providers.campus.url': cas.url,
      'providers.campus.client_id': 'latchkey',
      'providers.campus.client_secret': 'not-used-by-cas-at-all',
    }),
  );

  const begin = () => authorization(service.url, { provider: 'campus', redirect_uri: REDIRECT_URI });

  /** Returns the address at which the browser arrives. */
  async function arrive(page: string): Promise<URL> {
    const { headers } = await fetch(page, { redirect: 'manual' });
    return new URL(headers.get('location')!);
  }

  const token = (body: object): request.Test => request(service.url).post('/oauth2/token').send(body);

  it('signs in, with state and redirect URI unchanged, and the attributes as the identity', async () => {
    const { redirect_url, state } = await begin();
    const back = await arrive(redirect_url);
    expect(back.href.startsWith(`${REDIRECT_URI}&state=${state}&ticket=ST-`)).toBe(true);
    const code = back.searchParams.get('ticket');
    await token({ code, state: back.searchParams.get('state'), redirect_uri: REDIRECT_URI }).expect(200);
    expect(
      await query(
        service.databaseUrl,
        'SELECT provider, provider_user_id, username, email, avatar_url FROM users',
      ),
    ).toEqual([
      {
        provider: 'campus',
        provider_user_id: 'ada',
        username: 'Ada Lovelace',
        email: 'ada@campus.example',
        avatar_url: null,
      },
    ]);
    expect((await token({ code, state: (await begin()).state }).expect(401)).body).toMatchObject({
      error: 'invalid_grant', // used
    });
  });

  it('refuses a ticket with the state of another sign-in, and one that never was', async () => {
    const [mine, theirs] = [await begin(), await arrive((await begin()).redirect_url)];
    const injected = await token({ code: theirs.searchParams.get('ticket'), state: mine.state }).expect(401);
    expect(injected.body).toMatchObject({ error: 'invalid_grant' });
    const made = await token({ code: 'ST-1-made-up', state: (await begin()).state }).expect(401);
    expect(made.body).toMatchObject({ error: 'invalid_grant' });
  });

  inChromium('by the SDK', () => {
    const app = use(() => ClientApp.start());
    beforeAll(() => {
      app.service = service.url;
    });
    const browser = use(() => launchChromium());
    const page = prepare(() => browser.newPage());

    const options = { provider: 'campus', mode: 'popup', redirectUri: '/callback?ticket_of=campus' };

    it('signs in: the ticket comes through the callback page', async () => {
      page.setDefaultTimeout(60_000);
      await page.goto(`${app.url}/?options=${encodeURIComponent(JSON.stringify(options))}`);
      const [sent] = await Promise.all([
        page.waitForRequest((one) => one.method() === 'POST' && one.url().endsWith('/oauth2/token')),
        page.click('#in'),
      ]);
      await page.getByText('signed in as').waitFor();
      expect(sent.postDataJSON()).toMatchObject({
        code: expect.stringMatching(/^ST-/),
        redirect_uri: `${app.url}/callback?ticket_of=campus`,
      });
    });

    it.each([
      ['taken where there is no code', '?ticket=ST-1&state=5e', '/callback'],
      ['left where there is a code', '?ticket=ST-1&code=c&state=5e', '/callback?ticket=ST-1'],
    ])('a ticket is %s', async (_name, came, left) => {
      const other = await browser.newPage(); // not signed in
      await other.goto(`${app.url}/callback${came}`);
      await other.getByText('invalid_state').waitFor(); // it was not begun here
      expect(other.url()).toBe(app.url + left);
    });
  });
});
