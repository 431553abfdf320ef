import {
  launch,
  type BrowserContext,
  type ElementHandle,
  type Frame,
  type KeyInput,
  type Page,
} from 'puppeteer-core';
import {
  type Browser,
  type Profile,
  type Tab,
  type Target,
  type View,
  BACK,
  find,
  FRAME,
} from './browser.js';
import { eventually } from './eventually.js';

/** Chromium by its own protocol, or Firefox by WebDriver BiDi; both without windows. */
export async function launchPuppeteer(browser: 'chrome' | 'firefox', program: string): Promise<Browser> {
  const launched = await launch({
    browser,
    executablePath: program,
    headless: program.endsWith('headless-shell') ? 'shell' : true,
    args: browser === 'chrome' ? ['--no-sandbox', '--disable-gpu', '--disable-quic'] : [],
    // Popups are blocked as they are for users.
    ignoreDefaultArgs: ['--disable-popup-blocking'],
    extraPrefsFirefox: { 'dom.disable_open_during_load': true },
  });
  return {
    version: (await launched.version()).replace('/', ' '),
    async newProfile(): Promise<Profile> {
      const context = await launched.createBrowserContext();
      return {
        async open(url) {
          const page = await context.newPage();
          await page.goto(url);
          return tab(context, page);
        },
        close: () => context.close(),
      };
    },
    close: () => launched.close(),
  };
}

function tab(context: BrowserContext, page: Page): Tab {
  const inFrame = async (): Promise<Frame> => {
    const element = await elementOf(async () => page.mainFrame(), FRAME);
    return eventually('the frame', () => element.contentFrame());
  };
  return {
    ...view(async () => page.mainFrame()),
    frame: view(inFrame),
    async goto(url) {
      await page.goto(url);
    },
    async reload() {
      await page.reload();
    },
    async back() {
      await page.evaluate(BACK);
    },
    press: (key) => page.keyboard.press(key satisfies KeyInput),
    async popup(action) {
      const before = await context.pages();
      await action();
      const opened = await eventually('a window', async () =>
        (await context.pages()).find((one) => !before.includes(one)),
      );
      return tab(context, opened);
    },
    focus: () => page.bringToFront(),
    isClosed: async () => page.isClosed(),
    close: () => page.close(),
    async screenshot(path) {
      await page.screenshot({ path });
    },
  };
}

const elementOf = (frame: () => Promise<Frame>, target: Target): Promise<ElementHandle> =>
  eventually(`${target.css} ${target.name ?? ''}`, async () =>
    (await (await frame()).evaluateHandle(find(target))).asElement(),
  ) as Promise<ElementHandle>;

function view(frame: () => Promise<Frame>): View {
  return {
    evaluate: async <Value>(expression: string) => (await frame()).evaluate(expression) as Promise<Value>,
    async click(target) {
      await (await frame()).page().bringToFront(); // a tab behind another one gets no clicks
      await eventually(`a click on ${target.css}`, async () => {
        await (await elementOf(frame, target)).click(); // fails if the dialog has just changed
        return true;
      });
    },
    async type(target, text) {
      await (await frame()).page().bringToFront();
      await (await elementOf(frame, target)).type(text);
    },
  };
}
