import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { sessionRoutes } from '../../packages/server/src/express.js';
import { createSessions, type Sessions } from '../../packages/server/src/session.js';
import type { Tab } from './browser.js';
import { ENGINE } from './engines.js';
import { waitFor } from './eventually.js';
import { World } from './world.js';

const OUT = '<form method="post" action="/auth/sign-out"><button>Sign out</button></form>';

/** `@latchkey/server/session` with the headers and cookies of a real browser (RFC 10017 §6). */
describe('a session of pages that a server renders', () => {
  let world: World;
  let sessions: Sessions;
  let server: Server;
  let port: number;
  /** Method, path and status of each answer. */
  const answers: string[] = [];

  beforeAll(async () => {
    world = await World.start();
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
    server = app.listen(0);
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
    sessions = createSessions({
      issuer: world.app.service,
      clientUrl: `http://localhost:${port}`,
      cookieSecret: 'a cookie secret of the tests, which is long enough',
      tokenEndpoint: true,
    });
  });
  afterAll(async () => {
    server?.closeAllConnections();
    server?.close();
    sessions?.close();
    await world?.close();
  });
  afterEach(() => world.leave());

  const shows = (tab: Tab, text: string) => waitFor(tab, `document.body.textContent.includes('${text}')`);
  async function signIn(): Promise<Tab> {
    const profile = await world.newProfile();
    return profile.open(`http://localhost:${port}/auth/sign-in?provider=stub`);
  }
  const status = (what: string) => answers.filter((answer) => answer.startsWith(what)).at(-1);

  if (ENGINE === 'webkit') {
    // As docs and README say: `Secure` cookies are for https alone.
    it('cannot be had at http://localhost', async () => shows(await signIn(), 'invalid_state'));
    return;
  }

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
      const app = `http://localhost:${port}`;
      const read = `fetch('${app}/auth/token', { credentials: 'include' }).then(() => 'read', () => 'refused')`;
      expect(await tab.evaluate(read)).toBe('refused');
      expect(status('GET /auth/token')).toBe('GET /auth/token 403');
      await tab.evaluate(`void (() => {
        const form = document.createElement('form');
        Object.assign(form, { method: 'post', action: '${app}/auth/sign-out' });
        document.body.append(form);
        form.submit();
      })()`);
      await shows(tab, 'invalid_origin');
      expect(status('POST /auth/sign-out')).toBe('POST /auth/sign-out 403');
      await tab.goto(app);
      await shows(tab, 'Session of');
    },
  );

  it('shows no code if a callback is not its own, and stays', async () => {
    const tab = await signIn();
    await shows(tab, 'Session of');
    await tab.goto(`http://localhost:${port}/auth/callback?code=lkc_x&state=y&iss=z`);
    await shows(tab, 'invalid_state');
    expect(await tab.evaluate('location.search')).not.toMatch(/code|lkc/);
    await tab.goto(`http://localhost:${port}/`);
    await shows(tab, 'Session of');
  });
});
