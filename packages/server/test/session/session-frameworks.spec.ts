import { once } from 'node:events';
import { createServer, request as call, type IncomingMessage, type RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import express from 'express';
import { Hono } from 'hono';
import { sessionRoutes } from '../../src/express.js';
import { createSessions, type SessionOptions, type Sessions } from '../../src/session.js';
import { serve, type Api } from '../support/apis.js';
import { APP, CookieBrowser } from '../support/cookie-browser.js';
import { use, useService } from '../../../../test/support/use.js';

/** An application in each framework: `/` answers with the user's id, or sends the browser to sign in. */
const APPLICATIONS: Record<string, (sessions: Sessions) => RequestListener> = {
  Express(sessions) {
    const app = express();
    app.use((_request, response, next) => {
      response.cookie('of-the-application', 'x');
      next();
    });
    app.use(sessionRoutes(sessions));
    app.get('/', async (request, response) => {
      const session = await sessions.getSession(request);
      if (!session) return response.redirect('/auth/sign-in?provider=stub&returnTo=/');
      return response.json({ of: session.userId });
    });
    return app;
  },

  /** Mounted at the prefix: there, Express removes it from `url`. */
  'Express with a router'(sessions) {
    const app = express();
    app.use('/auth', sessionRoutes(sessions));
    app.get('/', async (request, response) => {
      const session = await sessions.getSession(request);
      return session
        ? response.json({ of: session.userId })
        : response.redirect('/auth/sign-in?provider=stub');
    });
    return app;
  },

  Hono(sessions) {
    const app = new Hono();
    app.use(async (context, next) => (await sessions.handle(context.req.raw)) ?? next());
    app.get('/', async (context) => {
      const session = await sessions.getSession(context.req.raw);
      return session ? context.json({ of: session.userId }) : context.redirect('/auth/sign-in?provider=stub');
    });
    return forWeb((request) => app.fetch(request));
  },

  /** As SvelteKit's `handle` in hooks.server.js. */
  Request(sessions) {
    return forWeb(async (request) => (await sessions.handle(request)) ?? page(request));
    async function page(request: Request): Promise<Response> {
      const session = await sessions.getSession(request);
      if (session) return Response.json({ of: session.userId });
      return Response.redirect(new URL('/auth/sign-in?provider=stub', request.url), 303);
    }
  },

  /** As Next.js: route handlers below /auth; server components and actions see `await headers()` alone. */
  'Next.js'({ signIn, callback, signOut, getSession }) {
    const routes: Record<string, (request: Request) => Promise<Response>> = {
      'GET /auth/sign-in': signIn,
      'GET /auth/callback': callback,
      'POST /auth/sign-out': signOut,
    };
    return forWeb(async (request) => {
      const route = routes[`${request.method} ${new URL(request.url).pathname}`];
      if (route) return route(request);
      const headers = (): Promise<Headers> => Promise.resolve(new Headers(request.headers));
      const session = await getSession({ headers: await headers() });
      if (session) return Response.json({ of: session.userId });
      return Response.redirect(new URL('/auth/sign-in?provider=stub', request.url), 303);
    });
  },
};

function forWeb(handle: (request: Request) => Response | Promise<Response>): RequestListener {
  return ({ method, url, headers }, response) => {
    const pairs = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
    void Promise.resolve(
      handle(new Request(`http://localhost${url}`, { method: method!, headers: pairs })),
    ).then(async (answer) => {
      response.statusCode = answer.status;
      response.setHeaders(answer.headers);
      return response.end(await answer.text());
    });
  };
}

/** By Node.js's client, since `fetch` replaces `Sec-Fetch-Mode`. */
async function send(url: string, { url: address, method, headers }: Request): Promise<Response> {
  const { pathname, search } = new URL(address);
  const sent = call(url + pathname + search, { method, headers: Object.fromEntries(headers) }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const pairs = Object.entries(answer.headersDistinct).flatMap(([name, values]) =>
    values!.map((value): [string, string] => [name, value]),
  );
  return new Response(await text(answer), { status: answer.statusCode!, headers: pairs });
}

describe('sessions', () => {
  const apps: Api[] = [];
  afterAll(() => Promise.all(apps.map((app) => app.close())));

  const { provider, service } = useService();
  const sessions = use(() =>
    createSessions({
      issuer: service.url,
      clientUrl: 'https://app.example',
      cookieSecret: 'a cookie secret of the tests, which is long enough',
    }),
  );
  beforeAll(() => provider.signInAtOnce());

  it.each(Object.keys(APPLICATIONS))('in %s: sign in, a page, sign out', async (name) => {
    const app = await serve(APPLICATIONS[name]!(sessions));
    apps.push(app);
    // Behind a proxy that ends TLS: browsers see https://app.example.
    const browser = new CookieBrowser((request) => send(app.url, request));
    const first = await browser.visit('/');
    expect([first.status, first.headers.get('location')]).toEqual([
      expect.any(Number),
      expect.stringMatching(/\/auth\/sign-in\?provider=stub/),
    ]);
    const answer = await browser.signIn('/orders');
    expect([answer.status, answer.headers.get('location')]).toEqual([303, 'https://app.example/orders']);
    expect([...browser.cookies.keys()].filter((cookie) => cookie.includes('latchkey'))).toEqual([
      '__Host-latchkey',
      '__Host-latchkey.device',
    ]);
    const page = await browser.visit('/');
    expect([page.status, await page.json()]).toEqual([200, { of: expect.stringMatching(/^[\da-f-]{36}$/) }]);
    const out = await browser.post('/auth/sign-out');
    expect([out.status, out.headers.get('location')]).toEqual([303, 'https://app.example/']);
    expect((await browser.visit('/')).headers.get('location')).toContain('/auth/sign-in');
    if (name === 'Express') expect(browser.cookies.get('of-the-application')).toBe('x');
  });

  /** What routers and proxies make of the address that the browser has. */
  const INNER: [string, Partial<SessionOptions>, (path: string) => string][] = [
    ['a router that adds a slash', {}, (path) => path.replace(/(?=\?|$)/, '/')],
    ['a path of the application', { basePath: '/shop' }, (path) => path],
    ['a path that a proxy removes', { basePath: '/shop' }, (path) => path.replace('/shop', '')],
    [
      'such a path, with a slash',
      { basePath: '/a/b' },
      (path) => path.replace('/a/b', '').replace(/(?=\?|$)/, '/'),
    ],
  ];

  it.each(INNER)('behind %s: sign in, go on, sign out', async (_name, options, inner) => {
    const { basePath = '' } = options;
    const at = createSessions({
      issuer: service.url,
      clientUrl: APP,
      cookieSecret: 'a cookie secret of the tests, which is long enough',
      errorPath: '/failed',
      ...options,
    });
    const browser = new CookieBrowser(({ url, method, headers }) => {
      const { pathname, search } = new URL(url);
      return at.handle({ method, headers, url: inner(pathname + search) });
    }, basePath);
    for (const returnTo of ['/orders?a=b', `${basePath}/orders?a=b`])
      expect((await browser.signIn(returnTo)).headers.get('location')).toBe(`${APP}${basePath}/orders?a=b`);
    expect(await at.getSession(browser.request('/'))).not.toBeNull();
    for (const foreign of [
      '//evil.example',
      '/..//evil.example',
      `${basePath}/auth/sign-in`,
      '/auth/sign-in',
    ])
      expect((await browser.signIn(foreign)).headers.get('location')).toBe(`${APP}${basePath}/`);
    const out = await browser.post(`${basePath}/auth/sign-out`);
    expect([out.status, out.headers.get('location')]).toEqual([303, `${APP}${basePath}/`]);
    const failed = await browser.visit(`${basePath}/auth/callback?state=x&code=x`);
    expect(failed.headers.get('location')).toContain(`${APP}${basePath}/failed?error=invalid_state`);
    at.close();
  });

  it('passes errors of the handlers on to Express', async () => {
    const app = express()
      .use(sessionRoutes({ handle: () => Promise.reject(new Error('broken')) }))
      .use(((error, _request, response, _next) => {
        response.status(500).send((error as Error).message);
      }) satisfies express.ErrorRequestHandler);
    const { url, close } = await serve(createServer(app).listeners('request')[0] as RequestListener);
    expect(await (await fetch(url)).text()).toBe('broken');
    await close();
  });
});
