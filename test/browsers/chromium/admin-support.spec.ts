import type { Page } from 'playwright-core';
import { inChromium } from '../../support/chromium.js';
import { startTestService } from '../../support/service.js';
import { goTo, signInAs } from '../admin-visitor.js';
import { DemoVisitors, isSignedIn, provider, signInButton } from '../demo-visitor.js';
import { useEach } from '../../support/use.js';

/** What the support handbook says of a stolen laptop. */
inChromium('the administration page after a sign-out', () => {
  const service = useEach(() => startTestService());
  const visitors = useEach(() => DemoVisitors.launch());

  /** On the demo page of a new device. */
  async function signInLinus(): Promise<Page> {
    const page = await visitors.open();
    await page.goto(`${service.url}/`);
    await signInButton(page).click();
    await provider(page).getByRole('button', { name: 'Linus' }).click();
    await isSignedIn(page, 'Linus Torvalds');
    return page;
  }

  it('shows the device as signed out, and loads the events again', async () => {
    const laptop = await signInLinus();
    const page = await visitors.open();
    await sayOnline(page);
    await signInAs(page, `${service.url}/admin`, 'Grace');
    await open(page);
    const devices = page.getByRole('region', { name: 'Devices' });
    await devices.getByText('Online').waitFor();
    await devices.getByRole('button', { name: 'Sign out' }).click();
    const trail = page.waitForRequest(/\/admin\/trail\?user_id=/);
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('One session has ended.').waitFor();
    await devices.getByText('1 signed-out device').waitFor();
    await page.locator('.who').getByText('Signed out').waitFor();
    await trail;
    await laptop.getByRole('dialog', { name: 'Sign in' }).waitFor();

    await goTo(page, 'Overview');
    await signInLinus();
    await page.waitForTimeout(2100); // sooner, the page takes the answer that it has
    await open(page);
    const events = page.getByRole('region', { name: 'Audit' }).getByRole('row', { name: /^Signed in / });
    await events.nth(1).waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' }); // a request may be under way
    expect(await visitors.leave()).toEqual([]);
  });
});

/** Finds the user from anywhere, by links. */
async function open(page: Page): Promise<void> {
  await goTo(page, 'Users');
  await page.getByRole('link', { name: 'Linus Torvalds' }).click();
  await page.getByRole('region', { name: 'Audit' }).getByRole('row').nth(1).waitFor();
}

/** Makes users and devices look online, as they are until their sockets have closed. */
async function sayOnline(page: Page): Promise<void> {
  await page.route(/\/users\/[^/]+$/, async (route) => {
    if (route.request().resourceType() === 'document') return route.continue();
    const response = await route.fetch();
    const user = (await response.json()) as { devices: object[] };
    const devices = user.devices.map((device) => ({ ...device, online: true }));
    return route.fulfill({ response, json: { ...user, online: true, devices } });
  });
}
