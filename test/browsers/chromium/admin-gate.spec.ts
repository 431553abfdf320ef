import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { CDPSession } from 'playwright-core';
import { inChromium } from '../../support/chromium.js';
import { startTestService } from '../../support/service.js';
import { expectAccessible, signInAs } from '../admin-visitor.js';
import { useVisitors } from '../demo-visitor.js';
import { use } from '../../support/use.js';

const SERVICE_KEY = 'k'.repeat(32);

/** What the page shows before its views (docs/administration.md#turn-it-on). */
inChromium('the administration page, to a person without a role', () => {
  const service = use(() => startTestService({ SERVICE_KEYS: `users:${SERVICE_KEY}` }));
  const { page } = useVisitors();

  const heading = (name: string) => page.getByRole('heading', { name, level: 1, exact: true });
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const copied = async (): Promise<string> => {
    await page.getByRole('status').getByText('Copied').waitFor();
    return page.evaluate<string>('navigator.clipboard.readText()');
  };

  it('gives the command that makes the first administrator', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await signInAs(page, `${service.url}/admin/users`, 'Linus');
    await heading('You need a role for this page').waitFor();
    await button('Copy your user id').click();
    const userId = await copied();
    expect(await page.locator('.copyable code').innerText()).toBe(userId);
    await page.getByText('Make yourself the first administrator').click();
    await page.getByText('PROVIDERS_MOCK_CLAIMS').waitFor();
    await page.getByText('ADMIN_PROVIDERS').waitFor();
    await expectAccessible(page, 'no role');

    await button('Copy the command').click();
    await page.getByText('Copied: the command').waitFor();
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(command).toContain(`/users/${userId}/claims`);
    expect(command).not.toContain(SERVICE_KEY);
    await promisify(execFile)('sh', ['-c', command], { env: { ...process.env, USERS_KEY: SERVICE_KEY } });
    await button('Check again').click();
    await heading('Users').waitFor();
  });

  it('names the setting that is missing, if the provider sends the role', async () => {
    await page.route('**/admin/session', async (route) => {
      const response = await route.fetch();
      return route.fulfill({ response, json: { ...(await response.json()), right: null } });
    });
    await signInAs(page, `${service.url}/admin`, 'Ada');
    await page
      .getByText('You have the role latchkey-admin, but ADMIN_PROVIDERS does not name mock.')
      .waitFor();
    await expectAccessible(page, 'no role, from a provider that grants none');
    await button('Sign in as somebody else').click();
    await heading('Sign in').waitFor();
    await expectAccessible(page, 'sign-in');
  });

  it('draws the sign-in with its buttons, on a slow line, and moves nothing', async () => {
    await page.addInitScript(RECORD);
    await slow(await page.context().newCDPSession(page));
    page.setDefaultTimeout(60_000);
    await page.goto(`${service.url}/admin`);
    await button('Continue with Sample provider').waitFor();
    await page.waitForTimeout(500); // a late shift
    const { cards, shifts } = await page.evaluate<Seen>('seen');
    expect(cards).toEqual(['Continue with Sample provider']);
    expect(shifts).toEqual([]);
  });

  it('shows the sign-in without its buttons if the providers do not come, and draws them later', async () => {
    let answer = (): void => undefined;
    const asked = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/oauth2/providers', async (route) => {
      await asked;
      await route.continue();
    });
    await page.goto(`${service.url}/admin`);
    await page.locator('.gate:not(.pending)').waitFor();
    expect(await page.getByRole('button').count()).toBe(0);
    const before = await page.locator('.card').boundingBox();
    answer();
    await button('Continue with Sample provider').waitFor();
    expect(await page.locator('.card').boundingBox()).toEqual(before);
  });
});

interface Seen {
  /** What the buttons said in each state of the visible card, without repetitions. */
  readonly cards: string[];
  readonly shifts: number[];
}

/** Records, frame by frame, what is drawn of the card, and what moves. */
const RECORD = `
  const seen = { cards: [], shifts: [] };
  globalThis.seen = seen;
  new PerformanceObserver((list) => seen.shifts.push(...list.getEntries().map(({ value }) => value)))
    .observe({ type: 'layout-shift', buffered: true });
  const look = () => {
    const card = document.querySelector('.card');
    const place = card?.querySelector('.providers');
    if (card && getComputedStyle(card.parentElement).opacity !== '0') {
      const text = place?.firstElementChild?.shadowRoot?.textContent ?? '';
      if (seen.cards.at(-1) !== text) seen.cards.push(text);
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);`;

/** 400 kbit/s, 400 ms. */
async function slow(session: CDPSession): Promise<void> {
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 400,
    downloadThroughput: 50_000,
    uploadThroughput: 50_000,
  });
}
