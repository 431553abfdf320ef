import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { confirm, DemoVisitors, devices, feed, isSignedIn, signIn } from '../browsers/demo-visitor.js';
import { SERVICE_KEY } from '../support/service.js';
import { inChromium } from '../support/chromium.js';
import { createEmptyDatabase, unhurried } from '../support/database.js';
import { Endings } from '../support/endings.js';
import { freePort } from '../support/free-port.js';
import { startServiceProcess, type ServiceProcess } from '../support/service-process.js';
import { bearer, claimsOf } from '../support/sign-in.js';
import { RELEASED_MAIN } from './released.js';

/** The SDK of a released version, in a page that is not loaded again (docs/versions.md). */
inChromium('a page that stays open during an upgrade', () => {
  const endings = new Endings();
  afterAll(() => endings.run());

  it('goes on: its session, its channel and its list of devices', async () => {
    const database = endings.after(await createEmptyDatabase(), (one) => one.close());
    const env = {
      PORT: String(await freePort()),
      DATABASE_URL: unhurried(database.url),
      SERVICE_KEYS: SERVICE_KEY,
      ACCESS_TOKEN_TTL: '60',
    };
    const start = async (main?: string): Promise<ServiceProcess> =>
      endings.after(await startServiceProcess(env, main), async (one) => void (await one.end('SIGKILL')));
    const old = await start(RELEASED_MAIN);
    const visitors = endings.after(await DemoVisitors.launch(), (one) => one.close());
    const [page, other] = [await visitors.open(), await visitors.open()];
    for (const one of [page, other]) one.setDefaultTimeout(60_000);
    await signIn(page, old.url);
    await signIn(other, old.url);
    const loaded = (one: Page): Promise<number> => one.evaluate('performance.timeOrigin');
    const before = await Promise.all([loaded(page), loaded(other)]);

    const refreshed = [page, other].map((one) =>
      one.waitForResponse('**/oauth2/refresh', { timeout: 120_000 }),
    );
    await old.end('SIGTERM');
    const { url } = await start();
    await isSignedIn(page);
    await isSignedIn(other);
    const session = await page.evaluate<{ access_token: string }>(
      `JSON.parse(Object.values(localStorage).find((text) => text.includes('"access_token"')))`,
    );
    const event = `demo.${randomUUID()}`;
    const push = { user_id: claimsOf(session.access_token)['sub'], event, data: {} };
    await bearer(url, SERVICE_KEY).post('/push', push).expect(202);
    await feed(page, event).waitFor();
    await feed(other, event).waitFor();
    // Of both: so the sign-out below meets the renewal of the other's channel.
    expect((await Promise.all(refreshed)).map((one) => one.status())).toEqual([200, 200]);
    expect(await Promise.all([loaded(page), loaded(other)])).toEqual(before);

    await devices(page)
      .getByRole('button', { name: /^Sign out/ })
      .first()
      .click();
    await confirm(page);
    // 0.1.0 says that the session has ended, if its channel is renewed at that moment.
    const reason = RELEASED_MAIN === undefined ? 'You were signed out on this device' : /sign in again/;
    await other.getByRole('dialog').getByText(reason).waitFor();
    expect(await visitors.leave()).toEqual([]);
  });
});
