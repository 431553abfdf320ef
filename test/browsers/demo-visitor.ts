import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  FrameLocator,
  Locator,
  Page,
} from 'playwright-core';
import { launchChromium } from '../support/chromium.js';
import { use, useEach } from '../support/use.js';

/** Browsers on the demo page; each context is a device. Records errors and policy violations. */
export class DemoVisitors {
  readonly faults: string[] = [];
  private contexts: BrowserContext[] = [];

  private constructor(private readonly browser: Browser) {}

  static async launch(): Promise<DemoVisitors> {
    return new DemoVisitors(await launchChromium());
  }

  /** An empty page of a new device. */
  async open(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.browser.newContext({ reducedMotion: 'reduce', ...options });
    this.contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(8000);
    page.on('pageerror', (error) => this.faults.push(error.message));
    page.on('console', (message) => {
      if (/Content Security Policy|X-Frame-Options/.test(message.text())) this.faults.push(message.text());
    });
    return page;
  }

  /** Closes all devices; returns what was wrong on any since the last call. */
  async leave(): Promise<string[]> {
    await Promise.all(this.contexts.splice(0).map((context) => context.close()));
    return this.faults.splice(0);
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}

/** Gives each test a page of a new device, and expects that nothing was wrong on any. */
export function useVisitors(): { visitors: DemoVisitors; page: Page } {
  const visitors = use(() => DemoVisitors.launch());
  const page = useEach(
    () => visitors.open(),
    async () => expect(await visitors.leave()).toEqual([]),
  );
  return { visitors, page };
}

export const provider = (page: Page): FrameLocator => page.frameLocator('iframe');
export const signInButton = (page: Page): Locator =>
  page.getByRole('button', { name: 'Sign in', exact: true });
export const devices = (page: Page): Locator => page.getByRole('region', { name: 'Devices' });
export const feed = (page: Page, text: string): Locator => page.getByRole('log').getByText(text);

/** The states of the flow's steps. */
export function steps(page: Page): Promise<(string | null)[]> {
  return page
    .locator('#steps > li')
    .evaluateAll((items) => items.map((item) => item.getAttribute('data-state')));
}

/** Fills the provider's form. */
export async function submit(where: FrameLocator | Page, login: string, password: string): Promise<void> {
  await where.getByLabel('User name').fill(login);
  await where.getByLabel('Password').fill(password);
  await where.getByRole('button', { name: 'Sign in' }).click();
}

/** Signs a device in by one click at the provider. */
export async function signIn(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await signInButton(page).click();
  await provider(page).getByRole('button', { name: 'Ada' }).click();
  await isSignedIn(page);
}

/** Waits until the whole page is shown, and the channel is open. */
export async function isSignedIn(page: Page, name = 'Ada Lovelace'): Promise<void> {
  await page.getByRole('heading', { name }).waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  await devices(page).getByText('This device').filter({ visible: true }).waitFor();
}

/** Answers the question before a sign-out in the list of devices. */
export const confirm = (page: Page): Promise<void> =>
  devices(page)
    .getByRole('group', { name: /\?$/ })
    .getByRole('button', { name: 'Sign out', exact: true })
    .click();

/** Chooses from the user's menu. */
export async function chooseFromMenu(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Account of Ada Lovelace' }).click();
  await page
    .getByRole('group', { name: 'Account of Ada Lovelace' })
    .getByRole('button', { name, exact: true })
    .click();
}
