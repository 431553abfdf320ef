import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { freePort } from '../support/free-port.js';
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
import { WebDriver, type Reference } from './webdriver.js';

/** As WebDriver names them (its §17.4.2). */
const KEYS = { Escape: '\uE00C', Enter: '\uE007', Tab: '\uE004' };

/** WebKitGTK's MiniBrowser; it needs a display (xvfb-run). Each profile is a process, and stores nothing. */
export async function launchWebKit(program: string): Promise<Browser> {
  const all = new Set<Profile>();
  /** @param attempts the driver does not always answer at its start */
  const make = async (attempts = 3): Promise<[Profile, string]> => {
    const port = await freePort();
    const driver = spawn('WebKitWebDriver', [`--port=${port}`], { stdio: 'ignore' });
    const ended = once(driver, 'close');
    const web = await eventually('a session of WebKitWebDriver', () =>
      WebDriver.start(`http://127.0.0.1:${port}`, {
        acceptInsecureCerts: true,
        'webkitgtk:browserOptions': { binary: program, args: ['--automation'] },
        timeouts: { script: 8000 }, // a script never answers if its page is replaced
      }),
    ).catch((error: unknown) => {
      driver.kill('SIGKILL');
      if (attempts === 1) throw error;
    });
    if (!web) return make(attempts - 1);
    const made: Profile = {
      ...profile(web),
      async close() {
        if (!all.delete(made)) return;
        await web.end();
        driver.kill();
        await ended;
      },
    };
    all.add(made);
    return [made, web.version];
  };
  const [first, version] = await make();
  const spare = [first]; // it was started to ask for the version
  return {
    version: `WebKitGTK ${version}`,
    newProfile: async () => spare.pop() ?? (await make())[0],
    async close() {
      await Promise.all([...all].map((one) => one.close()));
    },
  };
}

function profile(web: WebDriver): Omit<Profile, 'close'> {
  let queue: Promise<unknown> = Promise.resolve();
  let isNew = true;
  const handles = async (): Promise<string[]> => (await web.get('/window/handles')) as string[];

  /** Does something in a window, or in the frame there: one thing at a time, since the driver has one current window. */
  const within = <Result>(handle: string, work: () => Promise<Result>, isFrame = false): Promise<Result> => {
    const done = queue.then(async () => {
      await web.post('/window', { handle });
      await web.post('/frame', { id: null });
      if (isFrame) await web.post('/frame', { id: await web.element(find(FRAME)) });
      return work();
    });
    queue = done.catch(() => undefined);
    return done;
  };

  const onElement = async (
    handle: string,
    isFrame: boolean,
    target: Target,
    act: (element: Reference) => Promise<unknown>,
  ): Promise<void> => {
    const attempt = async (): Promise<boolean> => {
      const element = await web.element(find(target));
      if (element) await act(element);
      return !!element;
    };
    await eventually(`${target.css} ${target.name ?? ''}`, () => within(handle, attempt, isFrame));
  };

  const view = (handle: string, isFrame: boolean): View => ({
    evaluate: <Value>(expression: string) =>
      within(handle, () => web.evaluate(expression) as Promise<Value>, isFrame),
    click: (target) => onElement(handle, isFrame, target, (element) => web.onElement(element, 'click')),
    // The click first: a script may not take the focus into a frame of another origin, and the driver's own is one.
    type: (target, text) =>
      onElement(handle, isFrame, target, async (element) => {
        await web.onElement(element, 'click');
        await web.onElement(element, 'value', { text: text.replaceAll('\n', KEYS.Enter) });
      }),
  });

  const tab = (handle: string): Tab => ({
    ...view(handle, false),
    frame: view(handle, true),
    goto: (url) => within(handle, async () => void (await web.post('/url', { url }))),
    reload: () => within(handle, async () => void (await web.post('/refresh'))),
    back: () => within(handle, async () => void (await web.evaluate(BACK))),
    press: (key) =>
      within(handle, async () => {
        const actions = ['keyDown', 'keyUp'].map((type) => ({ type, value: KEYS[key] }));
        await web.post('/actions', { actions: [{ type: 'key', id: 'keyboard', actions }] });
      }),
    async popup(action) {
      const before = await handles();
      await action();
      return tab(
        await eventually('a window', async () => (await handles()).find((one) => !before.includes(one))),
      );
    },
    focus: () => within(handle, async () => undefined),
    isClosed: async () => !(await handles()).includes(handle),
    close: () => within(handle, async () => void (await web.closeWindow())),
    screenshot: (path) =>
      within(handle, async () => writeFileSync(path, (await web.get('/screenshot')) as string, 'base64')),
  });

  return {
    async open(url) {
      const first = (await handles())[0]!;
      const add = async (): Promise<string> =>
        ((await web.post('/window/new', { type: 'window' })) as { handle: string }).handle;
      const made = tab(isNew ? first : await within(first, add));
      isNew = false;
      await made.goto(url);
      return made;
    },
  };
}
