import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { until } from '../../test/support/waiting.js';

/** What a tab says of itself. */
export interface Told {
  readonly signedOut: readonly { reason: string }[];
  readonly bound: boolean | undefined;
  readonly connected: boolean | undefined;
  /** Offset at which it began to listen; absent until then. */
  readonly first?: number;
  readonly got: readonly number[];
  /** The access token that all tabs share. */
  readonly token?: string;
}

/** A tab of the application. */
export class Tab {
  isFrozen = false;
  isHidden = false;

  private constructor(
    readonly page: Page,
    private readonly devtools: CDPSession,
  ) {}

  static async open(context: BrowserContext, url: string): Promise<Tab> {
    const page = await context.newPage();
    await page.goto(url);
    return new Tab(page, await context.newCDPSession(page));
  }

  /** @param key under which the client stores the session */
  tell(key: string): Promise<Told> {
    return this.page.evaluate(`({
      signedOut: of('signedOut'),
      bound: latchkey.session?.bound,
      connected: storm.channel?.connected,
      first: storm.kept.first,
      got: storm.kept.got,
      token: JSON.parse(localStorage.getItem('${key}') ?? '{}').access_token,
    })`);
  }

  async freeze(isFrozen: boolean): Promise<void> {
    // Playwright has every page believe that it is looked at, and Chromium freezes none that is.
    await ownSession(this.page).send('Emulation.setFocusEmulationEnabled', { enabled: !isFrozen });
    await this.devtools.send('Page.setWebLifecycleState', { state: isFrozen ? 'frozen' : 'active' });
    await until(async () => (await this.page.evaluate('storm.isFrozen')) === isFrozen);
    this.isFrozen = isFrozen;
  }

  async hide(isHidden: boolean): Promise<void> {
    this.isHidden = isHidden;
    await this.page.evaluate(`{
      Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
    }`);
  }
}

interface Session {
  send(method: string, parameters: object): Promise<unknown>;
}

function ownSession(page: Page): Session {
  const { _connection: connection } = page as unknown as {
    _connection: { toImpl(page: Page): { delegate: { _mainFrameSession: { _client: Session } } } };
  };
  const { _mainFrameSession: main } = connection.toImpl(page).delegate;
  const { _client: session } = main;
  return session;
}
