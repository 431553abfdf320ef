import { once } from 'node:events';
import { readFileSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import { sessionRoutes } from '../../packages/server/src/express.js';
import { createSessions } from '../../packages/server/src/session.js';
import { privateCa } from '../support/private-ca.js';
import type { Tab } from './browser.js';
import { ENGINE } from './engines.js';
import { waitFor } from './eventually.js';
import { World } from './world.js';
import { use } from '../support/use.js';

const OUT = '<form method="post" action="/auth/sign-out"><button>Sign out</button></form>';

/** `@latchkey/server/session` with the headers and cookies of a real browser (RFC 10017 §6). */
describe('a session of pages that a server renders', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-session-'));
  const servers: Server[] = [];
  let url: string;
  /** The same application without TLS. */
  let plain: string;
  /** Method, path and status of each answer. */
  const answers: string[] = [];

  const world = use(() => World.start());
  beforeAll(async () => {
    const app = express();
    app.use((request, response, next) => {
      response.once('finish', () => answers.push(`${request.method} ${request.path} ${response.statusCode}`));
      next();
    });
    app.use((request, response, next) => void sessionRoutes(sessions)(request, response, next));
    app.get('/', async (request, response) => {
      const session = await sessions.getSession(request);
      response.send(session ? `<p>Session of ${session.userId}</p>${OUT}` : '<p>Signed out</p>');
    });
    const listen = async (server: Server): Promise<string> => {
      servers.push(server.listen(0));
      await once(server, 'listening');
      return `localhost:${(server.address() as AddressInfo).port}`;
    };
    plain = `http://${await listen(createServer(app))}`;
    url = plain;
    if (ENGINE === 'webkit') {
      const { server } = privateCa(folder);
      const [key, cert] = [server.key, server.certificate].map((path) => readFileSync(path));
      url = `https://${await listen(createTlsServer({ key, cert }, app))}`;
    }
  });
  const sessions = use(() =>
    createSessions({
      issuer: world.app.service,
      clientUrl: url,
      cookieSecret: 'a cookie secret of the tests, which is long enough',
      tokenEndpoint: true,
    }),
  );
  afterAll(() => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    rmSync(folder, { recursive: true });
  });
  afterEach(() => world.leave());

  const shows = (tab: Tab, text: string) => waitFor(tab, `document.body.textContent.includes('${text}')`);
  async function signIn(origin = url): Promise<Tab> {
    const profile = await world.newProfile();
    return profile.open(`${origin}/auth/sign-in?provider=stub`);
  }
  const status = (what: string) => answers.filter((answer) => answer.startsWith(what)).at(-1);

  // As the documents say: there, `Secure` cookies are for https alone.
  if (ENGINE === 'webkit')
    it('cannot begin at http://localhost', async () => shows(await signIn(plain), 'invalid_state'));

  it('has a cookie that scripts cannot read, a token for the page alone, and ends by its form', async () => {
    const tab = await signIn();
    await shows(tab, 'Session of');
    expect(await tab.evaluate('[document.cookie, localStorage.length, sessionStorage.length]')).toEqual([
      '',
      0,
      0,
    ]);
    const token = `fetch('/auth/token').then((answer) => answer.json()).then(({ access_token }) => access_token.slice(0, 3))`;
    expect(await tab.evaluate(token)).toBe('eyJ');
    await tab.click({ css: 'button' });
    await shows(tab, 'Signed out');
    expect(status('POST /auth/sign-out')).toBe('POST /auth/sign-out 303');
    expect(await tab.evaluate(`fetch('/auth/token').then(({ status }) => status)`)).toBe(401);
  });

  it.each(['http://127.0.0.1', 'http://localhost'])(
    'gives a page of %s, on another port, nothing, and stays',
    async (origin) => {
      const tab = await signIn();
      await shows(tab, 'Session of');
      const foreign = `${origin}:${new URL(world.app.url).port}/`;
      await tab.goto(foreign);
      const read = `fetch('${url}/auth/token', { credentials: 'include' }).then(() => 'read', () => 'refused')`;
      expect(await tab.evaluate(read)).toBe('refused');
      expect(status('GET /auth/token')).toBe('GET /auth/token 403');
      await tab.evaluate(`void (() => {
        const form = document.createElement('form');
        Object.assign(form, { method: 'post', action: '${url}/auth/sign-out' });
        document.body.append(form);
        form.submit();
      })()`);
      await shows(tab, 'invalid_origin');
      expect(status('POST /auth/sign-out')).toBe('POST /auth/sign-out 403');
      await tab.goto(url);
      await shows(tab, 'Session of');
    },
  );

  it('leads home from a callback that is not its own, without the code, and stays', async () => {
    const tab = await signIn();
    await shows(tab, 'Session of');
    await tab.goto(`${url}/auth/callback?code=lkc_x&state=y&iss=z`);
    await shows(tab, 'Session of');
    expect(await tab.evaluate('location.pathname + location.search')).toBe('/');
  });
});
