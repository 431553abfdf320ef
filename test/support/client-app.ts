import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { signIn, type Tokens } from './sign-in.js';

/** What `@latchkey/client` is published with, as a folder to serve; the build is the test command's. */
const CLIENT = new URL('../../packages/client/dist/', import.meta.url);

const page = (script: string): string =>
  `<!doctype html><html lang="en"><title>App</title><button id="in">Enter</button><p id="out"></p><script type="module" src="/${script}"></script></html>`;

/** An application's page: a client, and a record of all its events. `?options=` adds to its options. */
const APP = `
import { createClient } from '/latchkey-client/index.js';
const own = JSON.parse(new URLSearchParams(location.search).get('options') ?? '{}');
window.seen = [];
window.latchkey = createClient({
  url: SERVICE, provider: 'mock', redirectUri: '/callback', ...own,
});
for (const name of ['change', 'signedOut', 'idle', 'progress', 'request'])
  latchkey.on(name, (detail) => seen.push([name, detail]));
window.of = (name) => seen.filter(([one]) => one === name).map(([, detail]) => detail);
if (location.search.includes('code=')) latchkey.handleCallback();
const say = (text) => (document.getElementById('out').textContent = text);
document.getElementById('in').onclick = () =>
  latchkey.signIn().then(({ userId }) => say('signed in as ' + userId), ({ code }) => say(code));
`;
const CALLBACK = `
import { createClient } from '/latchkey-client/index.js';
BEFORE
createClient({ url: SERVICE, provider: 'mock', redirectUri: '/callback' })
  .handleCallback()
  .catch((error) => (document.getElementById('out').textContent = error.code));
`;
/** A service worker: refreshes a session that a page gives it, and answers what the client has stored then, or why not. */
const WORKER = `
import { createClient } from '/latchkey-client/index.js';
addEventListener('install', () => skipWaiting());
addEventListener('message', async ({ data: record, ports: [port] }) => {
  const values = new Map([['latchkey:' + SERVICE, record]]);
  const storage = { getItem: (key) => values.get(key) ?? null, setItem: (key, value) => values.set(key, value), removeItem() {} };
  const client = createClient({ url: SERVICE, provider: 'mock', redirectUri: '/callback', storage });
  port.postMessage(await client.accessToken().then(() => storage.getItem('latchkey:' + SERVICE), ({ code }) => code));
  client.close();
});
`;
/** A page of another origin: frames the address it is given, and records what is posted to it. */
const STRANGER = `
window.heard = [];
addEventListener('message', ({ data }) => heard.push(data));
const frame = document.createElement('iframe');
frame.src = new URLSearchParams(location.search).get('frame');
document.body.append(frame);
`;

/** Serves pages with the built client at `127.0.0.1` and at `localhost`, which is another site. */
export class ClientApp {
  /** The address by which the pages call the service. */
  service = '';
  /** `Content-Security-Policy` of the pages. */
  policy = '';
  /** `Content-Security-Policy-Report-Only` of the pages. */
  reportedPolicy = '';
  /** `Cross-Origin-Opener-Policy` of all pages. */
  openerPolicy = '';
  /** Runs on the callback pages before the client's function. */
  beforeCallback = '';
  /** More of the application's script, which may call `latchkey` and `SERVICE`. */
  also = '';

  private constructor(
    private readonly server: Server,
    readonly url: string,
    readonly foreignUrl: string,
  ) {}

  static async start(): Promise<ClientApp> {
    const scripts: Record<string, () => string> = {
      '/app.js': () => (APP + app.also).replaceAll('SERVICE', JSON.stringify(app.service)),
      '/callback.js': () =>
        CALLBACK.replace('BEFORE', app.beforeCallback).replace('SERVICE', JSON.stringify(app.service)),
      '/stranger.js': () => STRANGER,
      '/worker.js': () => WORKER.replaceAll('SERVICE', JSON.stringify(app.service)),
    };
    for (const name of (await readdir(CLIENT)).filter((one) => one.endsWith('.js'))) {
      const text = await readFile(new URL(name, CLIENT), 'utf8');
      scripts[`/latchkey-client/${name}`] = () => text;
    }
    const pages: Record<string, string> = {
      '/': page('app.js'),
      '/callback': page('callback.js'),
      '/stranger': page('stranger.js'),
    };
    const server = createServer((request, response) => {
      const path = request.url?.split('?')[0] ?? '';
      const script = scripts[path];
      const text = script?.() ?? pages[path.includes('/callback/') ? '/callback' : path];
      response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html; charset=utf-8');
      if (app.policy && path === '/') response.setHeader('Content-Security-Policy', app.policy);
      if (app.reportedPolicy && path === '/')
        response.setHeader('Content-Security-Policy-Report-Only', app.reportedPolicy);
      if (app.openerPolicy) response.setHeader('Cross-Origin-Opener-Policy', app.openerPolicy);
      response.writeHead(text === undefined ? 404 : 200).end(text);
    });
    await new Promise<void>((resolve) => server.listen(0, resolve));
    const { port } = server.address() as AddressInfo;
    const app = new ClientApp(server, `http://127.0.0.1:${port}`, `http://localhost:${port}`);
    return app;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Keeps the page's client from opening a channel. @returns a function that lets it */
export async function holdChannel(tab: Page): Promise<() => void> {
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  await tab.route('**/channel.js', async (route) => {
    await released;
    await route.continue();
  });
  return release;
}

/**
 * Signs in at the provider `stub`, and stores the session as `@latchkey/client` does. Open pages of the browser are notified
 * as of a sign-in in another tab.
 * @param where page of the application's origin
 * @param age of the access token, seconds
 * @returns the user's id
 */
export async function storeSession(where: Page, service: string, user: string, age = 0): Promise<string> {
  const device_id = randomUUID();
  return storeTokens(where, service, await signIn(service, user, { device_id }), device_id, age);
}

/** Stores a session of a device, as the client would. @returns the user's id @public */
export async function storeTokens(
  where: Page,
  service: string,
  tokens: Tokens,
  device_id: string,
  age = 0,
): Promise<string> {
  const now = Date.now();
  // With idle time, an old token is not refreshed without an action.
  if (age > 0) Reflect.deleteProperty(tokens, 'idle_expires_in');
  const stored = { ...tokens, device_id, received_at: now - age * 1000, signed_in_at: now };
  const parameters = [`latchkey:${service}`, JSON.stringify(stored)].map((text) => JSON.stringify(text));
  await where.evaluate(
    `localStorage.setItem(${parameters.join()}); dispatchEvent(new StorageEvent('storage'))`,
  );
  return tokens.user_id;
}
