import { fileURLToPath } from 'node:url';
import type { BrowserContext, Page } from 'playwright-core';
import { BoundApp } from '../browsers/bound-app.js';
import { inChromium } from '../support/chromium.js';
import { startServiceProcess, type ServiceProcess } from '../support/service-process.js';

const PRELOAD = fileURLToPath(new URL('../support/skewed-clock.mjs', import.meta.url));

inChromium('a session that is bound to its browser goes on', () => {
  let world: BoundApp;
  /** Another instance, with a clock 90 s ahead; requests go to both in turn. */
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

  /** Passes the stored session to a service worker. */
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
