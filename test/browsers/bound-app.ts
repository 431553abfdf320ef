import { createServer, request as send, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchChromium } from '../support/chromium.js';
import { ClientApp } from '../support/client-app.js';
import { startTestService, type TestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';

/** What the client stores of a session. */
export interface Stored {
  access_token: string;
  refresh_token: string;
  binding?: { issuer: string; key: string };
}

/** A gateway before several instances: takes them in turn, and can lose an answer. */
class Front {
  /** Addresses of the instances. */
  instances: readonly string[] = [];
  /** Number of the next POSTs that lose their answer and connection after the instance has run them: browsers retry. */
  lost = 0;
  /** Methods and paths of what came in. */
  readonly seen: string[] = [];
  private turn = 0;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<Front> {
    // A browser sends a POST again only on a connection that it has used before: it must stay open.
    const server = createServer({ keepAliveTimeout: 600_000 }, (incoming, response) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        front.seen.push(`${incoming.method} ${incoming.url?.split('?')[0]}`);
        const isLost = incoming.method === 'POST' && front.lost > 0;
        if (isLost) front.lost--;
        front.forward(incoming, Buffer.concat(chunks)).then(
          (answer) =>
            isLost
              ? incoming.socket.destroy()
              : answer.pipe(response.writeHead(answer.statusCode!, answer.rawHeaders)),
          () => incoming.socket.destroy(),
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const front = new Front(server);
    return front;
  }

  get url(): string {
    return `http://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private forward({ method, url, rawHeaders }: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    if (method !== 'OPTIONS') this.turn++; // else the preflights would send every POST to one instance
    const instance = this.instances[this.turn % this.instances.length]!;
    return new Promise((resolve, reject) => {
      const forwarded = send(instance + url, { method, headers: rawHeaders, agent: false }, resolve);
      forwarded.on('error', reject).end(body);
    });
  }
}

/** An application in a browser with a provider that signs users in without a prompt. */
export class BoundApp {
  private constructor(
    readonly service: TestService,
    readonly front: Front,
    readonly app: ClientApp,
    readonly browser: Browser,
    readonly provider: StubProvider,
  ) {}

  static async start(env: Record<string, string> = {}): Promise<BoundApp> {
    const provider = await StubProvider.start();
    provider.signInAtOnce();
    const front = await Front.start();
    const service = await startTestService({ ...provider.env(), PUBLIC_URL: front.url, ...env });
    front.instances = [service.url];
    const app = await ClientApp.start();
    app.service = front.url;
    return new BoundApp(service, front, app, await launchChromium(), provider);
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.app.close();
    await this.front.close();
    await this.service.close();
    await this.provider.close();
  }

  async newDevice(options: Parameters<Browser['newContext']>[0] = {}): Promise<BrowserContext> {
    const context = await this.browser.newContext(options);
    context.setDefaultTimeout(8000);
    return context;
  }

  async open(context: BrowserContext, options: object = {}): Promise<Page> {
    const page = await context.newPage();
    const all = JSON.stringify({ provider: 'stub', ...options });
    await page.goto(`${this.app.url}/?options=${encodeURIComponent(all)}`);
    return page;
  }

  async signIn(context: BrowserContext, options: object = {}): Promise<Page> {
    const page = await this.open(context, options);
    await page.evaluate('latchkey.signIn()');
    return page;
  }

  /** What is stored of the session that all tabs share. */
  stored(page: Page): Promise<Stored> {
    return page.evaluate(`JSON.parse(localStorage.getItem('latchkey:${this.front.url}'))`);
  }

  /** Makes the token that all tabs share an old one, so that each of them refreshes, once. */
  async age(page: Page): Promise<void> {
    await page.evaluate(`{
      const key = 'latchkey:${this.front.url}';
      const held = JSON.parse(localStorage.getItem(key));
      localStorage.setItem(key, JSON.stringify({ ...held, access_token: 'old' + Math.random(), received_at: 1 }));
      dispatchEvent(new StorageEvent('storage', { key })); // browsers send it to other tabs only
    }`);
  }

  /** Resolves when a tab has a token that the service has just issued. */
  async refreshed(page: Page): Promise<void> {
    await until(() =>
      page.evaluate(`latchkey.accessToken().then((token) => token.startsWith('eyJ'), () => false)`),
    );
  }

  /** What a request to the store of keys results in, e.g. `count()`. */
  async keys<Result = unknown>(page: Page, request: string): Promise<Result> {
    return page.evaluate(`new Promise((resolve, reject) => {
      const opening = indexedDB.open('latchkey:${this.front.url}');
      opening.onerror = reject;
      opening.onsuccess = () => {
        const asked = opening.result.transaction('keys', 'readwrite').objectStore('keys').${request};
        opening.result.close();
        asked.onerror = reject;
        asked.onsuccess = () => resolve(asked.result);
      };
    })`);
  }

  signedOut(page: Page): Promise<{ reason: string }[]> {
    return page.evaluate(`of('signedOut')`);
  }
}
