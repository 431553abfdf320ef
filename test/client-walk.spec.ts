import { fileURLToPath } from 'node:url';
import type { BrowserContext, Page } from 'playwright-core';
import { BoundApp } from './support/bound-app.js';
import { inChromium } from './support/chromium.js';
import { isFull } from './support/proof.js';
import { startServiceProcess, type ServiceProcess } from './support/service-process.js';

const PRELOAD = fileURLToPath(new URL('./support/skewed-clock.mjs', import.meta.url));
const STEPS = isFull ? 500 : 20;
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

inChromium('a session that is bound to its browser goes on', () => {
  let world: BoundApp;
  /** Another instance, whose clock is 90 s ahead; requests go to both in turn. */
  let skewed: ServiceProcess;
  let context: BrowserContext;

  beforeAll(async () => {
    world = await BoundApp.start();
    skewed = await startServiceProcess({
      ...world.provider.env(),
      PUBLIC_URL: world.front.url,
      DATABASE_URL: world.service.databaseUrl,
      NODE_OPTIONS: `--import ${PRELOAD}`,
      CLOCK_SKEW_MS: '90000',
    });
    world.front.instances = [world.service.url, skewed.url];
  });
  afterAll(async () => {
    await skewed?.end('SIGTERM');
    await world?.close();
  });
  beforeEach(async () => {
    context = await world.newDevice();
  });
  afterEach(() => context.close());

  /** What the service answered to the refreshes of a tab, and to its sign-in. */
  const answers = (page: Page): Promise<(number | undefined)[]> =>
    page.evaluate(
      `of('request').filter(({ path }) => /refresh|token/.test(path)).map(({ status }) => status)`,
    );

  async function refresh(page: Page): Promise<void> {
    await world.age(page);
    await world.refreshed(page);
  }

  it.each([-120, 120])(
    'on a device whose clock is %i s off, with one more proof at most',
    async (seconds) => {
      await context.clock.install({ time: Date.now() + seconds * 1000 });
      const page = await world.signIn(context);
      expect(await page.evaluate('latchkey.session.bound')).toBe(true);
      await refresh(page);
      await refresh(page);
      expect(await answers(page)).toEqual([200, 200, 200]); // the time came with the answer to authorize
      await page.reload();
      await refresh(page);
      await refresh(page);
      expect(await answers(page)).toEqual([400, 200, 200]);
    },
  );

  it('when the browser itself sends a refresh again, because a connection broke', async () => {
    const page = await world.signIn(context);
    await refresh(page);
    world.front.seen.length = 0;
    world.front.lost = 1;
    await refresh(page);
    expect(await answers(page)).toEqual([200, 200, 400, 200]);
    expect(world.front.seen.filter((call) => call === 'POST /oauth2/refresh')).toHaveLength(3);
  });

  it('in a service worker, where there is no document', async () => {
    const page = await world.signIn(context);
    await world.age(page);
    expect(await inWorker(page)).toMatch(/"access_token":"eyJ.*"key":"/);
  });

  it(`over ${STEPS} random steps, with no sign-out (SEED=${SEED})`, async () => {
    const random = mulberry(SEED);
    const pick = (count: number): number => Math.floor(random() * count);
    await context.addInitScript(`if (sessionStorage.fails) {
      delete sessionStorage.fails;
      const { open } = IDBFactory.prototype;
      IDBFactory.prototype.open = function () { IDBFactory.prototype.open = open; throw new Error('fails once'); };
    }`);
    await context.clock.install();
    const tabs = [await world.signIn(context)];
    const any = (): Page => tabs[pick(tabs.length)]!;
    const allRefreshed = async (): Promise<void> => {
      await Promise.all(tabs.map((tab) => world.refreshed(tab)));
    };

    const steps: Record<string, () => Promise<unknown>> = {
      refresh: () => world.age(any()),
      'open a tab': async () => tabs.length < 3 && tabs.push(await world.open(context)),
      'close a tab': async () => tabs.length > 1 && tabs.splice(pick(tabs.length), 1)[0]!.close(),
      async reload() {
        await world.age(any());
        await any().reload();
      },
      async worker() {
        await world.age(any());
        expect(await inWorker(any())).toContain('eyJ');
      },
      sleep: () => context.clock.fastForward(pick(120) * 60_000),
      'set the clock': () => context.clock.setSystemTime(Date.now() + (pick(2) ? 120_000 : -120_000)),
      async 'sent twice'() {
        world.front.twice = 1 + pick(2);
        await world.age(any());
        await allRefreshed();
        world.front.twice = 0;
      },
      async 'answers lost'() {
        world.front.lost = 1 + pick(3);
        await world.age(any());
        await allRefreshed();
        world.front.lost = 0;
      },
      async 'service away'() {
        world.front.away = true;
        await world.age(any());
        await any().evaluate('latchkey.accessToken().catch(() => 0)');
        world.front.away = false;
      },
      async 'IndexedDB fails'() {
        await world.age(any());
        const tab = any();
        await tab.evaluate(`sessionStorage.fails = 'once'`);
        await tab.reload();
      },
    };
    const names = Object.keys(steps);
    const done: string[] = [];
    for (let n = 0; n < STEPS; n++) {
      const name = names[pick(names.length)]!;
      done.push(name);
      await steps[name]!();
      await allRefreshed();
      for (const tab of tabs) {
        const ended = await world.signedOut(tab);
        if (ended.length) throw new Error(`${ended[0]!.reason} after ${done.slice(-5).join(', ')}`);
        expect(await tab.evaluate('latchkey.session.bound')).toBe(true);
      }
    }
    await refresh(tabs[0]!);
  }, 300_000);

  /** What a service worker makes of the session that is stored. */
  function inWorker(page: Page): Promise<string> {
    return page.evaluate(`(async () => {
      navigator.serviceWorker.register('/worker.js', { type: 'module' });
      const { active } = await navigator.serviceWorker.ready;
      const { port1, port2 } = new MessageChannel();
      const answer = new Promise((resolve) => (port1.onmessage = ({ data }) => resolve(data)));
      active.postMessage(localStorage.getItem('latchkey:${world.front.url}'), [port2]);
      return answer;
    })()`);
  }
});

/** Numbers from 0 to 1 that the seed decides (mulberry32). */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
