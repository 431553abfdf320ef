import { randomUUID } from 'node:crypto';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { inChromium, launchChromium } from '../../support/chromium.js';
import { ClientApp, holdChannel, storeSession } from '../../support/client-app.js';
import { use, useEach, useService } from '../../support/use.js';
import { until } from '../../support/waiting.js';

/** Devices without a browser: the component of the SDK, and the page of the service. */
inChromium('requests of devices', () => {
  let page: Page;

  const { provider, service } = useService({ PROVIDERS_MOCK_ENABLED: 'false', DEVICE_GRANT: 'push' });
  const app = use(() => ClientApp.start());
  beforeAll(() => {
    app.service = service.url;
  });
  const browser = use(() => launchChromium());
  beforeAll(() => provider.signInAtOnce(() => 'ada'));
  const context = useEach(() =>
    browser.newContext({ viewport: { width: 360, height: 740 }, reducedMotion: 'reduce' }),
  );
  beforeEach(async () => {
    context.setDefaultTimeout(20_000);
    page = await context.newPage();
  });

  async function begin(body: object = {}) {
    const answer = await fetch(`${service.url}/oauth2/device_authorization`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'my-cli', device_name: 'build server', ...body }),
    });
    return (await answer.json()) as { device_code: string; user_code: string; number: string };
  }
  async function poll({ device_code }: { device_code: string }): Promise<number> {
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    const answer = await fetch(`${service.url}/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type, client_id: 'my-cli', device_code }),
    });
    await answer.body?.cancel();
    return answer.status;
  }
  async function findFaults(): Promise<unknown[]> {
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
      'axe.run()',
    );
    return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
  }
  /** Opens the application, signed in, with the component. */
  async function open(): Promise<string> {
    await page.goto(`${app.url}/callback`);
    const userId = await storeSession(page, service.url, randomUUID());
    await page.goto(`${app.url}/`);
    await page.evaluate(`(async () => {
      document.title = 'Devices';
      const main = document.body.appendChild(document.createElement('main'));
      main.appendChild(document.createElement('h1')).textContent = 'Devices';
      const place = main.appendChild(document.createElement('div'));
      await latchkey.showDeviceRequests(place);
    })()`);
    return userId;
  }

  it('are shown, and approved with the number of the device', async () => {
    const user = await open();
    const begun = await begin({ login_hint: user });
    await page.getByText('Sign “build server” in?').waitFor();
    expect(await findFaults()).toEqual([]);
    await page.getByLabel('Number on the device').fill(begun.number);
    await page.getByRole('listitem').getByRole('button', { name: 'Yes, sign it in' }).click();
    await page.getByText('The device is signed in.').waitFor();
    await page.getByText('Sign “build server” in?').waitFor({ state: 'detached' });
    expect(await poll(begun)).toBe(200);
  });

  it('are shown if they came while the channel was being opened', async () => {
    const release = await holdChannel(page);
    let answers = 0;
    page.on('response', (one) => (answers += Number(one.url().endsWith('/me/device-requests'))));
    const user = await open();
    await until(async () => answers === 2); // at once, and with the user's claims
    await begin({ login_hint: user });
    release();
    await page.getByText('Sign “build server” in?').waitFor();
  });

  it('keep the focus and what is typed while another one arrives', async () => {
    const user = await open();
    await begin({ login_hint: user });
    const number = page.getByLabel('Number on the device').first();
    await number.pressSequentially('1');
    await begin({ login_hint: user });
    await until(async () => (await page.getByRole('listitem').count()) === 2);
    await page.keyboard.type('2');
    const numbers = await page.getByLabel('Number on the device').all();
    expect((await Promise.all(numbers.map((one) => one.inputValue()))).toSorted()).toEqual(['', '12']);
  });

  it('show the address as it is, whatever the device calls itself', async () => {
    const user = await open();
    await begin({ login_hint: user, client_id: 'cli\u202e', device_name: '\u202eserver' });
    await page.getByRole('listitem').waitFor();
    const isInOrder = await page.evaluate(`(() => {
      const [{ shadowRoot }] = [...document.querySelectorAll('*')].filter((one) => one.shadowRoot);
      const texts = shadowRoot.querySelector('li p').childNodes;
      const facts = [...texts].map((one) => one.firstChild ?? one).find((one) => one.data?.includes('127'));
      const place = (i) => {
        const range = new Range();
        range.setStart(facts, i);
        range.setEnd(facts, i + 1);
        return range.getBoundingClientRect().left;
      };
      const at = facts.data.lastIndexOf('127');
      return place(at) < place(at + 2);
    })()`);
    expect(isInOrder).toBe(true);
  });

  it('are denied by “no”, and by a wrong number', async () => {
    const user = await open();
    const [one, other] = [await begin({ login_hint: user }), await begin({ login_hint: user })];
    await page.getByRole('listitem').nth(1).waitFor();
    await page.getByRole('listitem').first().getByRole('button', { name: 'No' }).click();
    await page.getByText('The request was denied.').waitFor();
    await page.getByRole('listitem').nth(1).waitFor({ state: 'detached' });
    const wrong = [one, other].some(({ number }) => number === '10') ? '11' : '10';
    await page.getByLabel('Number on the device').fill(wrong === other.number ? '12' : wrong);
    await page.getByRole('listitem').getByRole('button', { name: 'Yes, sign it in' }).click();
    await page.getByText('The number was wrong.').waitFor();
    expect(await Promise.all([poll(one), poll(other)])).toEqual([400, 400]);
  });

  it('are decided by the code that any device shows', async () => {
    await open();
    const begun = await begin();
    const code = page.getByLabel('Code on the device');
    await code.fill('BDFH-JLNP');
    await page.getByRole('button', { name: 'Yes, sign it in' }).click();
    await page.getByText('the code is wrong').waitFor();
    await code.fill(begun.user_code.toLowerCase());
    await code.press('Enter');
    await page.getByText('The device is signed in.').waitFor();
    expect(await poll(begun)).toBe(200);
  });

  describe('on the page of the service', () => {
    it.each(['light', 'dark'] as const)('are answered by keyboard, %s', async (colorScheme) => {
      await page.emulateMedia({ colorScheme });
      const begun = await begin();
      await page.goto(`${service.url}/device`);
      expect(await findFaults()).toEqual([]);
      await page.locator('#user_code:focus').waitFor();
      await page.keyboard.type('bcdf ghjk');
      await page.keyboard.press('Enter');
      await page.getByText('There is no such code').waitFor();
      expect(await findFaults()).toEqual([]);
      await page.goto(`${service.url}/device?user_code=${begun.user_code}`);
      await page.locator('#user_code:focus').waitFor();
      await page.keyboard.press('Enter');
      await page.getByText('Sign this device in?').waitFor();
      expect(await findFaults()).toEqual([]);
      const width = await page.evaluate('document.documentElement.scrollWidth');
      expect(width).toBeLessThanOrEqual(360);
      const [yes, no] = [page.getByRole('button', { name: 'Yes' }), page.getByRole('button', { name: 'No' })];
      const sizes = await Promise.all([yes, no].map(async (one) => (await one.boundingBox())!.width));
      expect(sizes[0]).toBeCloseTo(sizes[1]!, 0);
      await yes.focus();
      await page.keyboard.press('Enter');
      await page.getByText('The device is signed in').waitFor();
      expect(await findFaults()).toEqual([]);
      expect(await poll(begun)).toBe(200);
    });
  });
});
