import type { BrowserContext, CDPSession, Page } from 'playwright-core';

/** What a tab says of itself. */
export interface Told {
  readonly signedOut: readonly { reason: string }[];
  readonly bound: boolean | undefined;
  readonly connected: boolean | undefined;
  /** Offset at which it began to listen; absent until then. */
  readonly first?: number;
  readonly got: readonly number[];
  /** What its requests were answered, each with the moment at which it asked; told once. */
  readonly answers: readonly (readonly [begun: number, answer: number | string])[];
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
      answers: storm.answers.splice(0),
      token: JSON.parse(localStorage.getItem('${key}') ?? '{}').access_token,
    })`);
  }

  /** As browsers do with tabs that nobody has looked at for a while: no timer and no answer reaches it. */
  async freeze(isFrozen: boolean): Promise<void> {
    await this.devtools.send('Page.setWebLifecycleState', { state: isFrozen ? 'frozen' : 'active' });
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
