import { ClientApp } from '../support/client-app.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { startTestService, type TestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { use, useEach } from '../support/use.js';
import type { Browser, Profile, Tab, View } from './browser.js';
import { launchEngine } from './engines.js';
import { waitFor } from './eventually.js';

export const SERVICE_KEY = 'k'.repeat(32);

/** An application, the service behind a line that can be cut, and a browser. */
export class World {
  /** Ends the profiles that a test has opened. */
  private readonly profiles: Profile[] = [];

  private constructor(
    readonly browser: Browser,
    readonly app: ClientApp,
    /** Signs every user in: `stub` at once; `isolated` after a click, with Cross-Origin-Opener-Policy. */
    readonly provider: StubProvider,
    /** Between the pages and the service. */
    readonly line: TcpProxy,
    private readonly database: TestDatabase,
    private readonly settings: Record<string, string>,
    private service: TestService,
  ) {}

  static async start(): Promise<World> {
    const launching = launchEngine();
    const provider = await StubProvider.start();
    provider.signInAtOnce();
    const { answer } = provider;
    provider.answer = (request, response, raw) => {
      const query = new URL(request.path, provider.url).searchParams;
      const isPage = request.method === 'GET' && request.path.startsWith('/isolated/');
      if (isPage && !query.has('asked')) {
        response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
        response.setHeader('Content-Type', 'text/html');
        return void response.end(`<a href="?asked=&${query.toString().replaceAll('&', '&amp;')}">Go on</a>`);
      }
      return answer(request, response, raw);
    };
    const database = await createDatabase();
    const port = String(await freePort());
    const line = await TcpProxy.before(`http://localhost:${port}`);
    const settings = {
      ...provider.env(),
      ...provider.env('ISOLATED'),
      PROVIDERS_ISOLATED_URL: `${provider.url}/isolated`,
      PORT: port,
      PUBLIC_URL: `http://localhost:${line.port}`,
      DATABASE_URL: database.url,
      SERVICE_KEYS: SERVICE_KEY,
    };
    const service = await startTestService(settings);
    const app = await ClientApp.start();
    app.service = settings.PUBLIC_URL;
    return new World(await launching, app, provider, line, database, settings, service);
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.app.close();
    await this.line.refuse();
    await this.service.close();
    await this.provider.close();
    await this.database.close();
  }

  /** Stops the service, and starts it again at the same address and with the same database. */
  async restartService(): Promise<void> {
    await this.service.close();
    this.service = await startTestService(this.settings);
  }

  /** Makes a profile, which is another browser for the pages; closed by `leave`. */
  async newProfile(): Promise<Profile> {
    const profile = await this.browser.newProfile();
    this.profiles.push(profile);
    return profile;
  }

  /** To be called after each test. */
  async leave(): Promise<void> {
    this.app.policy = '';
    await this.line.restore();
    await Promise.all(this.profiles.splice(0).map((profile) => profile.close()));
  }

  /** The key under which the client stores its tokens. */
  get key(): string {
    return `latchkey:${this.app.service}`;
  }

  /** The page of the application. @param options of its client; the sample provider in a frame unless they say otherwise */
  address(options: object = {}, origin = this.app.url): string {
    return `${origin}/?options=${encodeURIComponent(JSON.stringify({ mode: 'iframe', ...options }))}`;
  }

  /** A tab that is signed in, by a provider that asks nothing. */
  async signIn(profile: Profile, options: object = {}): Promise<Tab> {
    const tab = await profile.open(this.address({ provider: 'stub', ...options }));
    await waitFor(tab, '!!window.latchkey'); // under load, WebKit's driver may return before the page has loaded
    await tab.evaluate('latchkey.signIn().then(() => 1)');
    return tab;
  }

  /** What is stored of the session that all tabs share. */
  stored(view: View): Promise<{ access_token: string; refresh_token: string; binding?: { key: string } }> {
    return view.evaluate(`JSON.parse(localStorage.getItem('${this.key}'))`);
  }

  /** Makes the token that all tabs share an old one, so that each of them refreshes. */
  age(view: View): Promise<unknown> {
    return view.evaluate(`(() => {
      const held = JSON.parse(localStorage.getItem('${this.key}'));
      localStorage.setItem('${this.key}', JSON.stringify({ ...held, access_token: 'old' + Math.random(), received_at: 1 }));
      dispatchEvent(new StorageEvent('storage', { key: '${this.key}' })); // the tab that stores gets no event
    })()`);
  }
}

/** Starts a world, with an empty profile for each test. */
export function useWorld(): { world: World; profile: Profile } {
  const world = use(() => World.start());
  const profile = useEach(
    () => world.newProfile(),
    () => world.leave(),
  );
  return { world, profile };
}

/** Fills the sample provider's form in. Enter rather than a click: a frame moves when it has loaded. */
export async function logIn(form: View): Promise<void> {
  await waitFor(
    form,
    `document.readyState === 'complete' && !!document.querySelector('input[type=password]')`,
  );
  await form.type({ css: 'input[name=login]' }, 'ada');
  await form.type({ css: 'input[type=password]' }, 'analytical-engine\n');
}

export const signedIn = (view: View): Promise<unknown> => waitFor(view, 'window.latchkey?.session?.userId');

/** The sign-in's dialog, and what it asks to be clicked. */
export const DIALOG = { css: 'dialog, [role=dialog]' };
export const ENTER = { css: '#in' };
export const CLOSE = { css: 'button', name: /✕|close/i };
export const NEW_WINDOW = { css: 'button', name: /window/i };
export const RETRY = { css: 'button', name: /again/i };

/** What the application's button resulted in, e.g. `cancelled`. */
export const said = (view: View, text: string): Promise<unknown> =>
  waitFor(view, `document.querySelector('#out').textContent.includes('${text}')`);
export const codes = (view: View): Promise<string[]> =>
  view.evaluate(`of('signedOut').map(({ reason }) => reason)`);
