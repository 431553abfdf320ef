import axe from 'axe-core';
import type { BrowserContext, BrowserContextOptions, Page, Request } from 'playwright-core';
import { BoundApp } from '../bound-app.js';
import { inChromium } from '../../support/chromium.js';
import { use } from '../../support/use.js';
import { until } from '../../support/waiting.js';

/** Seconds: the least that the service takes. Its own clock continues as ever. */
const IDLE = 300;
const AWAY = 'You were signed out because you were away. Please sign in again.';

/** Sessions that end if the user does not act (docs/guides/session-length.md#in-the-browser). The clock is the browser's. */
inChromium('a user who does nothing', () => {
  let context: BrowserContext;
  /** What each accepted refresh has reported. */
  let reports: unknown[];

  const world = use(() => BoundApp.start({ SESSION_IDLE_TTL: String(IDLE) }));
  beforeEach(() => newDevice());
  afterEach(() => {
    world.app.also = '';
    return context.close();
  });

  /** @param ahead seconds by which its clock is wrong */
  async function newDevice(ahead = 0, device: BrowserContextOptions = {}): Promise<void> {
    await context?.close();
    context = await world.newDevice(device);
    await context.clock.install({ time: Date.now() + ahead * 1000 });
    reports = [];
    context.on('response', (answer) => {
      const asked = answer.request();
      if (asked.method() === 'POST' && asked.url().endsWith('/oauth2/refresh') && answer.ok())
        reports.push(asked.postDataJSON().idle_for);
    });
  }

  /** Opens a tab that watches what its user does. */
  async function watching(opening: Promise<Page>): Promise<Page> {
    const file = context.waitForEvent('response', (answer) => answer.url().endsWith('/idle-watch.js'));
    const page = await opening;
    await file;
    await page.evaluate('latchkey.me()'); // a round trip: the file has run
    return page;
  }
  const signIn = (options: object = {}): Promise<Page> => watching(world.signIn(context, options));
  const openBeside = (): Promise<Page> => watching(world.open(context));
  const pass = (seconds: number): Promise<void> => context.clock.fastForward(seconds * 1000);
  const notices = (page: Page): Promise<{ ends_at: string | null }[]> => page.evaluate(`of('idle')`);
  const ended = (page: Page): Promise<unknown[]> => page.evaluate(`of('signedOut')`);
  const stored = (page: Page): Promise<unknown> =>
    page.evaluate(`JSON.parse(localStorage.getItem('latchkey:${world.front.url}'))`);
  const refreshed = (count: number): Promise<void> => until(() => reports.length >= count);

  it('is told a minute before the end, in each tab, and is signed out then, without a request', async () => {
    const first = await signIn();
    const second = await openBeside();
    await pass(IDLE - 65);
    expect([await notices(first), await notices(second)]).toEqual([[], []]);
    await pass(10);
    const left = 'Date.parse(latchkey.idleEndsAt) - Date.now()';
    for (const page of [first, second]) {
      await page.waitForFunction(`of('idle').length`);
      expect(await notices(page)).toEqual([{ ends_at: await page.evaluate('latchkey.idleEndsAt') }]);
      expect(Math.abs((await page.evaluate<number>(left)) - 55_000)).toBeLessThan(5000);
    }
    await pass(58);
    for (const page of [first, second]) {
      await page.getByRole('alert').getByText(AWAY).waitFor();
      expect(await ended(page)).toEqual([{ reason: 'idle', message: AWAY }]);
      expect((await notices(page)).at(-1)).toEqual({ ends_at: null });
      expect(await page.evaluate('[latchkey.session ?? null, latchkey.idleEndsAt]')).toEqual([null, null]);
    }
    expect(reports).toEqual([]);
    expect(await stored(first)).toEqual({ reason: 'idle' });
  });

  it.each<[string, (page: Page) => Promise<unknown>]>([
    ['a click', (page) => page.mouse.click(5, 300)],
    ['a key', (page) => page.keyboard.press('a')],
    ['the wheel', (page) => page.mouse.wheel(0, 5)],
    ['stay()', (page) => page.evaluate('latchkey.stay()')],
    [
      'moves of the pointer',
      async (page) => {
        await page.mouse.move(5, 300);
        await page.mouse.move(9, 310);
      },
    ],
    [
      'the tab that is shown again',
      (page) => page.evaluate(`document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`),
    ],
  ])('goes on in all tabs by %s in one of them', async (_name, act) => {
    const first = await signIn();
    const second = await openBeside();
    await pass(IDLE - 40);
    await first.waitForFunction('latchkey.idleEndsAt');
    await act(second);
    for (const page of [first, second]) await page.waitForFunction('!latchkey.idleEndsAt');
    await refreshed(1);
    expect(reports).toEqual([0]);
    await pass(IDLE - 70);
    for (const page of [first, second]) {
      expect(await page.evaluate('!!latchkey.session')).toBe(true);
      expect((await notices(page)).map(({ ends_at }) => !ends_at)).toEqual([false, true]);
    }
  });

  describe('works in a frame', () => {
    const INNER = '<!doctype html><textarea></textarea>';
    beforeEach(() =>
      context.route('**/inner', (route) => route.fulfill({ body: INNER, contentType: 'text/html' })),
    );

    /** Adds a frame, which a script prepares. */
    const add = (script: string) => `new Promise((loaded) => {
      const frame = document.createElement('iframe');
      frame.onload = loaded;
      ${script}
    })`;
    const append = 'document.body.prepend(frame);';

    it.each([
      ['of the same origin', `frame.src = '/inner'; ${append}`],
      ['inside of a frame', `frame.srcdoc = '<iframe src="/inner"></iframe>'; ${append}`],
      [
        'in a shadow tree',
        `
        const host = document.createElement('div');
        document.body.prepend(host);
        frame.src = '/inner';
        host.attachShadow({ mode: 'open' }).append(frame);`,
      ],
      [
        'that was written',
        `
        frame.onload = null;
        ${append}
        frame.contentDocument.write('${INNER}');
        frame.contentDocument.close();
        loaded();`,
      ],
      [
        'that has gone to another page',
        `
        frame.srcdoc = 'first';
        frame.onload = () => {
          frame.onload = loaded;
          frame.removeAttribute('srcdoc');
          frame.src = '/inner';
        };
        ${append}`,
      ],
    ])('%s', async (_what, script) => {
      const page = await signIn();
      await page.evaluate(add(script));
      const inner = page.frames().at(-1)!;
      await inner.locator('textarea').focus();
      await pass(IDLE - 40);
      await page.waitForFunction('latchkey.idleEndsAt');
      await page.keyboard.press('a');
      await page.waitForFunction('!latchkey.idleEndsAt');
      await refreshed(1);
      expect(reports).toEqual([0]);
    });

    it('which a script sends to another page, and that is no action', async () => {
      const page = await signIn();
      await page.evaluate(add(`frame.src = '/inner'; ${append}`));
      await pass(IDLE - 40);
      await page.waitForFunction('latchkey.idleEndsAt');
      await page.evaluate(`new Promise((loaded) => {
        const frame = document.querySelector('iframe');
        frame.onload = loaded;
        frame.contentWindow.location.reload();
      })`);
      expect([reports, await page.evaluate('!!latchkey.idleEndsAt')]).toEqual([[], true]);
    });

    it('of another origin is signed out, unless that page is told by another way', async () => {
      const page = await signIn();
      await page.evaluate(add(`frame.sandbox = 'allow-scripts'; frame.src = '/inner'; ${append}`));
      await page.frames().at(-1)!.locator('textarea').focus();
      await page.keyboard.press('a');
      await pass(IDLE - 40);
      await page.waitForFunction('latchkey.idleEndsAt');
      await page.keyboard.press('a');
      await page.evaluate('new Promise(requestAnimationFrame)');
      expect([reports, await page.evaluate('!!latchkey.idleEndsAt')]).toEqual([[], true]);
    });

    it('after a sign-out and does not come back', async () => {
      const page = await signIn();
      await page.evaluate(add(`frame.src = '/inner'; ${append}`));
      await page.evaluate('latchkey.signOut()');
      await page.frames().at(-1)!.locator('textarea').press('a');
      expect(await page.evaluate('[latchkey.session ?? null, latchkey.idleEndsAt]')).toEqual([null, null]);
    });
  });

  it('cannot be played by a script, or by a page that moves below a pointer at rest', async () => {
    const page = await signIn();
    await page.mouse.move(50, 50);
    await pass(120);
    await page.evaluate(`(() => {
      for (const [Kind, type] of [[PointerEvent, 'pointerdown'], [KeyboardEvent, 'keydown'], [Event, 'touchstart']])
        document.body.dispatchEvent(new Kind(type, { bubbles: true }));
    })()`);
    await page.mouse.move(50, 50);
    await pass(IDLE - 120);
    await page.getByRole('alert').getByText(AWAY).waitFor();
    expect(reports).toEqual([]);
  });

  it('is reported by each refresh: the first action after a minute, and from time to time a user who acts all the time', async () => {
    const page = await signIn();
    await page.keyboard.press('a');
    await pass(30);
    await page.keyboard.press('b');
    expect(reports).toEqual([]);
    await pass(20);
    await page.evaluate('latchkey.accessToken()');
    await pass(45); // more than a minute since the sign-in, less than one since the last key
    await page.keyboard.press('c');
    await refreshed(1);
    await pass(70);
    await page.keyboard.press('d');
    await refreshed(2);
    await pass(100);
    await page.evaluate(`latchkey.fetch(SERVICE_URL + '/me')`.replace('SERVICE_URL', `'${world.front.url}'`));
    expect(reports).toEqual([0, 0]); // the token lives as long as the session
  });

  it('is signed out when the device wakes, before a page or a listener sees a session', async () => {
    world.app.also = `addEventListener('visibilitychange', () => (window.atWake = latchkey.session ?? null), true);`;
    const first = await signIn();
    const second = await openBeside();
    await pass(30);
    // As a sleep does: the date changes, and neither timers nor the monotonic clock run.
    await context.clock.setSystemTime((await first.evaluate<number>('Date.now()')) + 3_600_000);
    await first.evaluate(`document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`);
    expect(await first.evaluate('window.atWake')).toBeNull();
    expect(await ended(first)).toMatchObject([{ reason: 'idle' }]);
    expect(await second.evaluate('latchkey.accessToken().catch(({ code }) => code)')).toBe('signed_out');
    expect(await ended(second)).toMatchObject([{ reason: 'idle' }]);
    expect(reports).toEqual([]);
  });

  it('is signed out by the action that wakes the device', async () => {
    const page = await signIn();
    await context.clock.setSystemTime((await page.evaluate<number>('Date.now()')) + 3_600_000);
    await page.keyboard.press('a');
    expect(await ended(page)).toMatchObject([{ reason: 'idle' }]);
  });

  it('is signed out in a page that is loaded later, from the start', async () => {
    world.app.also = 'window.first = latchkey.session ?? null;';
    const page = await signIn();
    await page.goto('about:blank');
    await context.clock.setSystemTime(Date.now() + IDLE * 1000);
    const later = await world.open(context);
    await later.getByRole('alert').getByText(AWAY).waitFor();
    expect(await later.evaluate('window.first')).toBeNull();
    expect(await ended(later)).toEqual([{ reason: 'idle', message: AWAY }]);
    expect(reports).toEqual([]);
  });

  it('is not kept signed in by a page that is loaded again and again', async () => {
    const page = await signIn();
    for (let time = 0; time < 4; time++) {
      await pass(60);
      await page.reload();
      expect(await page.evaluate('!!latchkey.session')).toBe(true);
    }
    await pass(61);
    await page.getByRole('alert').getByText(AWAY).waitFor();
    expect(reports).toEqual([]);
  });

  it.each([3600, -3600])('is measured alike by a clock that is %i s wrong', async (ahead) => {
    await newDevice(ahead);
    const page = await signIn();
    await pass(100);
    await page.keyboard.press('a');
    await refreshed(1);
    await pass(IDLE - 50);
    await page.waitForFunction('latchkey.idleEndsAt');
    const second = await openBeside();
    expect(await second.evaluate('!!latchkey.session')).toBe(true);
    await pass(55);
    await page.getByRole('alert').getByText(AWAY).waitFor();
    expect(reports).toEqual([0]);
  });

  it('stays signed in if the clock of the device is set back, and acts', async () => {
    const page = await signIn();
    await pass(200);
    await context.clock.setSystemTime((await page.evaluate<number>('Date.now()')) - 3_600_000);
    await page.keyboard.press('a');
    await refreshed(1);
    await pass(IDLE - 70);
    expect(await page.evaluate('[!!latchkey.session, latchkey.idleEndsAt]')).toEqual([true, null]);
  });

  it('needs nothing of the service without idle time: no file, no listener, no parameter', async () => {
    await context.route(/\/oauth2\/(token|refresh)$/, async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      const answer = await route.fetch();
      const { idle_expires_in, ...others } = (await answer.json()) as Record<string, unknown>;
      if (answer.ok()) expect(idle_expires_in).toBe(IDLE);
      await route.fulfill({ response: answer, json: others });
    });
    const files: string[] = [];
    context.on('request', (asked: Request) => {
      if (asked.url().endsWith('.js')) files.push(asked.url());
    });
    const page = await world.signIn(context);
    await page.mouse.click(5, 300);
    await pass(280);
    await page.evaluate('latchkey.accessToken()');
    expect(reports).toEqual([undefined]);
    expect(files.filter((file) => file.includes('idle'))).toEqual([]);
    expect(await page.evaluate('Object.keys(localStorage).filter((key) => key.includes("action"))')).toEqual(
      [],
    );
  });

  describe('has a notice', () => {
    /** @param placed whether the notice is there before it is due */
    async function openNotice(options: object = {}): Promise<Page> {
      world.app.also = `
        const place = document.body.appendChild(document.createElement('div'));
        window.failed = [];
        latchkey.showIdleNotice(place, { onError: ({ code }) => failed.push(code) }).then((remove) => (window.remove = remove));`;
      const page = await signIn(options);
      await page.waitForFunction('window.remove');
      expect(await page.getByRole('alertdialog').count()).toBe(0);
      await page.focus('#in');
      await pass(IDLE - 50);
      await page.getByRole('alertdialog').waitFor();
      return page;
    }
    const focused = (page: Page): Promise<string | undefined> =>
      page.evaluate(
        'document.activeElement.shadowRoot?.activeElement?.textContent ?? document.activeElement.id',
      );

    it('with a countdown, which screen readers hear at the beginning and twice later', async () => {
      const page = await openNotice();
      const dialog = page.getByRole('alertdialog', { name: 'Are you still there?' });
      const said = dialog.getByRole('status');
      const heard: (string | null)[] = [];
      for (let second = 0; second < 45; second++) {
        heard.push(await said.textContent());
        await context.clock.runFor(1000);
      }
      const times = [...new Set(heard)].map((text) => /in (\d+) second/.exec(text!)![1]);
      expect([times.length, ...times.slice(1)]).toEqual([3, '30', '10']);
      expect(await page.getByText(/You will be signed out in [3-7] seconds\./).count()).toBe(1);
      await context.clock.runFor(10_000);
      await page.getByRole('alert').getByText(AWAY).waitFor();
      expect(await page.getByRole('alertdialog').count()).toBe(0);
    });

    it.each<[string, (page: Page) => Promise<unknown>]>([
      ['its button', (page) => page.getByRole('button', { name: 'Stay signed in' }).click()],
      ['Enter', (page) => page.keyboard.press('Enter')],
      ['Escape', (page) => page.keyboard.press('Escape')],
      ['any other key', (page) => page.keyboard.press('x')],
      ['a click beside it', (page) => page.mouse.click(3, 3)],
    ])('which goes by %s, and the focus returns', async (_name, act) => {
      const page = await openNotice();
      expect(await focused(page)).toBe('Stay signed in');
      await act(page);
      await page.getByRole('alertdialog').waitFor({ state: 'hidden' });
      await refreshed(1);
      expect(reports).toEqual([0]);
      expect(await focused(page)).toBe('in');
      expect(await page.evaluate('[!!latchkey.session, failed.length]')).toEqual([true, 0]);
    });

    it('whose other button signs out: the way to it is no action', async () => {
      const page = await openNotice();
      await page.mouse.move(100, 100);
      await page.mouse.move(140, 160);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.waitForFunction('!latchkey.session');
      expect(await ended(page)).toEqual([{ reason: 'user', message: '' }]);
      expect(reports).toEqual([]);
      expect(await page.getByRole('alertdialog').count()).toBe(0);
    });

    it('that can be removed', async () => {
      const page = await openNotice();
      await page.evaluate('window.remove()');
      expect(await page.getByRole('alertdialog').count()).toBe(0);
      expect(await page.evaluate('document.querySelectorAll("[data-latchkey-idle]").length')).toBe(0);
    });

    it.each([
      ['en', 'ltr', 'Are you still there?'],
      ['de', 'ltr', 'Sind Sie noch da?'],
      ['ar', 'rtl', 'هل ما زلت هنا؟'],
    ])('that passes axe-core at 320 px, light and dark, in %s', async (locale, direction, title) => {
      await newDevice(0, { viewport: { width: 320, height: 568 } });
      const page = await openNotice({ locale });
      await page.getByRole('alertdialog', { name: title }).waitFor();
      await page.evaluate(`void (document.documentElement.style.colorScheme = 'light dark')`);
      await page.evaluate(axe.source);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const checked = page.evaluate<axe.AxeResults>(`axe.run('[data-latchkey-idle]')`);
        await context.clock.runFor(1000); // axe waits by timers
        const { violations } = await checked;
        expect([colorScheme, violations]).toEqual([colorScheme, []]);
        const shots = process.env['SHOTS'];
        if (shots) await page.screenshot({ path: `${shots}/idle-${locale}-${colorScheme}.png` });
      }
      expect(
        await page.evaluate(
          `getComputedStyle(document.querySelector('[data-latchkey-idle]').shadowRoot.querySelector('dialog')).direction`,
        ),
      ).toBe(direction);
    });
  });
});

/** `MAX_SESSIONS` (docs/guides/session-length.md#number-of-sessions). */
inChromium('a session that a newer one replaces', () => {
  let contexts: BrowserContext[];

  const world = use(() => BoundApp.start({ MAX_SESSIONS: '1', PROVIDERS_STUB_AUTH_TIME: 'sign_in' }));
  beforeEach(() => void (contexts = []));
  afterEach(() => Promise.all(contexts.map((context) => context.close())));

  async function newDevice(): Promise<BrowserContext> {
    const context = await world.newDevice();
    contexts.push(context);
    return context;
  }
  /** With an open channel. */
  async function connected(opening: Promise<Page>): Promise<Page> {
    const page = await opening;
    await page.evaluate(`latchkey.connect().then((channel) => {
      window.lost = 0;
      channel.on('disconnect', () => window.lost++);
    })`);
    return page;
  }
  /** The gateway of the other tests has no WebSockets. */
  const direct = (): object => ({ url: world.service.url });
  const ended = (page: Page): Promise<unknown[]> => page.evaluate(`of('signedOut')`);

  it('on another device is signed out, with the cause', async () => {
    const first = await connected(world.signIn(await newDevice(), direct()));
    await world.signIn(await newDevice(), direct());
    await first.waitForFunction(`of('signedOut').length`);
    expect(await ended(first)).toEqual([
      { reason: 'signed_out', cause: 'too_many', message: expect.stringContaining('on this device') },
    ]);
  });

  it('by a step-up in this browser is signed out in no tab', async () => {
    const context = await newDevice();
    const first = await connected(world.signIn(context, direct()));
    const second = await connected(world.open(context, direct()));
    const before = await first.evaluate('latchkey.accessToken()');
    await context.route('**/oauth2/token', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      const answer = await route.fetch();
      // The end of the old session is known in both tabs long before the new one.
      for (const page of [first, second]) await page.waitForFunction('window.lost');
      await first.waitForTimeout(1000);
      await route.fulfill({ response: answer });
    });
    await first.evaluate('latchkey.stepUp({ maxAge: 0 })');
    const after = await first.evaluate('latchkey.accessToken()');
    expect(after).not.toBe(before);
    for (const page of [first, second]) {
      await until(async () => (await page.evaluate('latchkey.accessToken()')) === after);
      await until(() => page.evaluate(`latchkey.connect().then(({ connected }) => connected)`));
      expect(await ended(page)).toEqual([]);
      expect(await page.evaluate(`of('change').filter((session) => !session)`)).toEqual([]);
    }
  });
});
