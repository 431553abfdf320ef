import { existsSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { inChromium } from '../../support/chromium.js';
import {
  chooseFromMenu,
  confirm,
  useVisitors,
  devices,
  feed,
  isSignedIn,
  provider,
  signIn,
  signInButton,
  steps,
  submit,
} from '../demo-visitor.js';
import { startTestService } from '../../support/service.js';
import { use } from '../../support/use.js';

inChromium('the page of the demo', () => {
  const service = use(() => startTestService({ ACCESS_TOKEN_TTL: '90' }));
  const { visitors, page } = useVisitors();

  describe('with two devices', () => {
    let other: Page;

    beforeEach(async () => {
      other = await visitors.open();
      await Promise.all([signIn(page, service.url), signIn(other, service.url)]);
    });

    it('shows on both what one renames or pushes, but a refusal only on that one', async () => {
      const name = `Kitchen ${randomUUID().slice(0, 8)}`;
      await devices(page)
        .getByRole('button', { name: /^Rename/ })
        .first()
        .click();
      await page.getByRole('textbox', { name: 'Name of the device' }).fill(name);
      await page.getByRole('button', { name: 'Save' }).click();
      await devices(page).getByText(name).waitFor();
      await devices(other).getByText(name).waitFor();
      await feed(other, 'device.renamed').first().waitFor();

      const event = `demo.${randomUUID()}`;
      await page.getByRole('textbox', { name: 'Event' }).fill(event);
      await page.getByRole('textbox', { name: 'Data' }).fill('{"<b>": [1, "2"]}');
      await page.getByRole('button', { name: 'Push' }).click();
      for (const each of [page, other]) {
        await feed(each, event).waitFor();
        await feed(each, '{"<b>":[1,"2"]}').first().waitFor();
      }
      await page.getByRole('textbox', { name: 'Event' }).fill('demo.plain');
      await page.getByRole('textbox', { name: 'Data' }).fill('a word');
      await page.getByRole('button', { name: 'Push' }).click();
      await feed(other, 'a word').waitFor();

      const refusal = { error: 'server_error', error_description: 'something went wrong' };
      await page.route('**/demo/push', (route) => route.fulfill({ status: 500, json: refusal }));
      await page.getByRole('button', { name: 'Push' }).click();
      await page.getByText('Something went wrong.').waitFor();
    });

    it('ends the session of a device that the other signs out, within a second, and says so', async () => {
      const name = `Lost ${randomUUID().slice(0, 8)}`;
      await devices(other)
        .getByRole('button', { name: /^Rename/ })
        .first()
        .click();
      await other.getByRole('textbox', { name: 'Name of the device' }).fill(name);
      await other.getByRole('button', { name: 'Save' }).click();
      const signOut = devices(page).getByRole('button', { name: `Sign out ${name},` });
      await signOut.waitFor();
      const answered = page.waitForResponse((response) => response.request().method() === 'DELETE');
      await signOut.click();
      await confirm(page);
      expect((await answered).status()).toBe(204);
      const begun = performance.now();
      await other.getByRole('dialog').getByText('You were signed out on this device').waitFor();
      expect(performance.now() - begun).toBeLessThan(1000);
      await other.getByRole('button', { name: 'Close' }).click();
      await signInButton(other).waitFor();
      expect(await other.getByRole('heading', { name: 'Ada Lovelace' }).isVisible()).toBe(false);
      expect(await other.locator('#notice').isVisible()).toBe(false);
      await devices(page).getByRole('status').getByText(`${name} is signed out.`).waitFor();
      await devices(page).getByRole('listitem').filter({ hasText: name }).waitFor({ state: 'detached' });
    });

    it('signs out others, which looks like it at once, and everything, which asks before', async () => {
      await devices(page).getByRole('button', { name: 'Sign out all other devices' }).click();
      await confirm(page);
      await page.getByText('All other devices are signed out.').waitFor();
      await devices(page)
        .getByText(/^Signed-out devices/)
        .click();
      const row = devices(page).getByRole('listitem').filter({ hasText: 'Signed out' }).first();
      await row.getByText('Last used').waitFor();
      await row.getByRole('button', { name: /^Remove/ }).waitFor();
      expect(await row.getByRole('button', { name: /^(Rename|Sign out)/ }).count()).toBe(0);
      expect(await devices(page).getByText('Online', { exact: true }).count()).toBe(1);

      await other.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
      await provider(other).getByRole('button', { name: 'Ada' }).click();
      await isSignedIn(other);
      await chooseFromMenu(page, 'Sign out everywhere');
      await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click();
      expect(await page.getByRole('heading', { name: 'Ada Lovelace' }).isVisible()).toBe(true);
      await chooseFromMenu(page, 'Sign out everywhere');
      await page.getByRole('alertdialog').getByRole('button', { name: 'Sign out everywhere' }).click();
      await signInButton(page).waitFor();
      expect(await steps(page)).toEqual([null, null, null, null, null, null, null]);
      await other.getByRole('dialog').getByText('You were signed out on this device').waitFor();
    });

    it('signs out here alone, and asks at most twice for the devices however many events a reload brings back', async () => {
      await chooseFromMenu(page, 'Sign out');
      await signInButton(page).waitFor();
      expect(await page.getByRole('dialog').count()).toBe(0);
      await feed(other, 'device.signed_out').first().waitFor();
      await devices(other)
        .getByText(/^Signed-out devices/)
        .waitFor();

      let asked = 0;
      other.on('request', (one) => (asked += new URL(one.url()).pathname === '/devices' ? 1 : 0));
      await other.reload();
      await isSignedIn(other);
      await other.locator('#feed > li').nth(2).waitFor();
      expect(asked).toBeLessThanOrEqual(2); // at once, and with the channel
    });
  });

  it('shows the code for an application of your own, with the address of this service', async () => {
    await signIn(page, service.url);
    const code = page.locator('#snippet');
    expect(await code.textContent()).toContain(`url: '${service.url}'`);
    for (const [framework, text] of [
      ['react', '<LatchkeyProvider client={latchkey}>'],
      ['next', "'use client'"],
      ['vue', "from 'vue'"],
      ['plain', "latchkey.fetch('/api/orders')"],
    ] as const) {
      await page.getByLabel('Framework').selectOption(framework);
      expect(await code.textContent()).toContain(text);
      const guide = await page.locator('#guide').textContent();
      expect(existsSync(new URL(`../../../${guide}`, import.meta.url))).toBe(true);
    }
  });

  it('says how long the tokens last by what they are, and that nothing is live while the network is away', async () => {
    await page.addInitScript(`addEventListener('DOMContentLoaded', () => {
      window.said = [];
      const caption = document.getElementById('caption');
      if (caption) new MutationObserver(() => said.push(caption.textContent)).observe(caption, { childList: true });
    })`);
    await page.clock.install();
    await signIn(page, service.url);
    await page.clock.runFor(15_000); // the sentences wait for each other
    const said = (await page.evaluate<string[]>('said')).join();
    expect(said).toContain('Two tokens stay in this browser');
    expect(said).not.toContain('already');
    await page.getByText('for 90 seconds, then it is renewed').waitFor();
    const offline = async (is: boolean): Promise<void> => page.context().setOffline(is);
    const here = devices(page)
      .getByRole('listitem')
      .filter({ has: page.getByText('This device') });
    await here.getByText('Online').waitFor();

    await offline(true);
    await page.getByText('You are offline.').waitFor();
    await here.getByText('Offline').waitFor();
    await page.getByText('Offline', { exact: true }).last().waitFor();
    await page.clock.fastForward('02:00');
    expect(await page.getByRole('timer').textContent()).toBe('0:00');
    await page.getByText('Access token ended: renewed when you are back online').waitFor();

    await offline(false);
    await page.getByText('Access token renews by itself').waitFor();
    await page
      .getByRole('timer')
      .getByText(/^1:\d\d$/)
      .waitFor();
    await here.getByText('Online').waitFor();
    expect(await page.locator('#banner').isVisible()).toBe(false);
  });

  it('works by keyboard alone', async () => {
    const press = async (...keys: string[]): Promise<void> => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const focused = (): Promise<string> =>
      page.evaluate(`(() => {
        let { activeElement: one } = document;
        while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
        return (one.ariaLabel ?? one.labels?.[0]?.textContent ?? one.textContent).trim();
      })()`);
    /** Presses the Tab key until an element with this name has the focus. */
    const tabTo = async (name: RegExp, key = 'Tab'): Promise<void> => {
      for (let presses = 0; presses < 150; presses++) {
        await press(key);
        if (name.test(await focused())) return;
      }
      throw new Error(`${name.source} cannot be reached`);
    };
    await page.goto(service.url);
    await tabTo(/^Sign in$/);
    await press('Enter');
    await provider(page).getByLabel('Password').waitFor();
    const inForm = (): Promise<boolean> =>
      provider(page)
        .getByLabel('User name')
        .evaluate((input) => input.ownerDocument.hasFocus() && input.ownerDocument.activeElement === input);
    for (let presses = 0; presses < 5 && !(await inForm()); presses++) await press('Tab');
    await page.keyboard.type('ada');
    await press('Tab');
    await page.keyboard.type('analytical-engine');
    await press('Enter');
    await isSignedIn(page);
    expect(await page.evaluate('document.activeElement.id')).toBe('name');

    await tabTo(/^Rename/);
    await press('Enter');
    await page.keyboard.type('Typed by hand');
    await press('Enter');
    await devices(page).getByText('Typed by hand').waitFor();
    await press('Enter', 'Escape'); // the focus returns to the button
    expect(await focused()).toMatch(/^Rename Typed by hand,/);

    await tabTo(/^Event/);
    await press('Enter');
    await feed(page, 'demo.hello').waitFor();

    await page.evaluate(`document.getElementById('name').focus()`);
    await tabTo(/^Account of/, 'Shift+Tab');
    await press('Enter', 'Tab', 'Escape'); // the focus returns to the button
    expect(await focused()).toBe('Account of Ada Lovelace');
    await press('Enter', 'Tab', 'Tab', 'Tab', 'Enter');
    await page.getByRole('alertdialog').getByText('All your devices').waitFor();
    await press('Escape');
    await page.evaluate(`document.getElementById('name').focus()`);
    await tabTo(/^Account of/, 'Shift+Tab');
    await press('Enter', 'Tab', 'Tab', 'Enter');
    await signInButton(page).waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('sign-in');
  });

  /** Every state of the page, one after the other. */
  async function inEachState(look: (state: string) => Promise<void>): Promise<void> {
    await signIn(await visitors.open(), service.url); // a device that can be signed out
    await page.goto(service.url);
    await look('signed out');
    await signInButton(page).click();
    await provider(page).getByLabel('Password').waitFor();
    await look('dialog');
    await submit(provider(page), 'ada', 'wrong');
    await provider(page).getByRole('alert').waitFor();
    await provider(page).getByText('Names and passwords').click();
    await look('dialog with an error');
    await submit(provider(page), 'ada', 'analytical-engine');
    await isSignedIn(page);
    await page.getByRole('button', { name: 'Push' }).click();
    await feed(page, 'demo.hello').first().waitFor();
    await look('signed in');
    await page.getByText('Ids, and all that').click();
    await devices(page)
      .getByRole('button', { name: /^Rename/ })
      .first()
      .click();
    await look('opened');
    await page.getByRole('button', { name: /^Account of/ }).click();
    await look('menu');
    await page.getByRole('button', { name: 'Your devices' }).click();
    await page.getByRole('dialog').getByText('This device').filter({ visible: true }).waitFor();
    await look('devices in a dialog');
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await chooseFromMenu(page, 'Sign out everywhere');
    await look('confirmation');
    await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click();
    await page.context().setOffline(true);
    await page.getByText('You are offline.').waitFor();
    await look('offline');
    await page.context().setOffline(false);
    await devices(page).getByRole('button', { name: 'Sign out all other devices' }).click();
    await look('question');
    await confirm(page);
    await look('others signed out');
    const used = `${service.url}/callback?code=stolen&state=${'0f'.repeat(32)}`;
    await page.goto(used);
    await page.getByRole('link', { name: 'back to the demo' }).waitFor();
    await look('callback of a signed-in user');
    await page.getByRole('link', { name: 'back to the demo' }).click();
    await isSignedIn(page);
    await chooseFromMenu(page, 'Sign out');
    await signInButton(page).waitFor();
    await page.goto(used);
    await page.getByRole('alert').waitFor();
    await look('callback');
  }

  it('fits a phone of 320 px, and has no fault that axe-core knows, light or dark', async () => {
    const faults: string[] = [];
    const looks = { light: 0, dark: 0 };
    await page.setViewportSize({ width: 320, height: 640 });
    await inEachState(async (state) => {
      expect([state, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([state, 320]);
      for (const frame of page.frames()) {
        await frame.evaluate(axe.source);
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          // The dark scheme differs in its colours alone.
          const rules = colorScheme === 'dark' ? ", runOnly: ['color-contrast']" : '';
          const { violations: found, passes } = await frame.evaluate<axe.AxeResults>(
            `axe.run(document, { iframes: false, resultTypes: ['violations']${rules} })`,
          );
          looks[colorScheme] += passes.length;
          for (const { id, nodes } of found)
            faults.push(`${state}, ${colorScheme}: ${id}: ${nodes.map((node) => node.html).join()}`);
        }
      }
    });
    expect(faults).toEqual([]);
    expect(looks.light).toBeGreaterThan(100);
    expect(looks.dark).toBeGreaterThan(8);
  });
});
