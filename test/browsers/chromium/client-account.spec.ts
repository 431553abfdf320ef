import { randomUUID } from 'node:crypto';
import axe from 'axe-core';
import type { Locator, Page } from 'playwright-core';
import { inChromium, launchChromium } from '../../support/chromium.js';
import { ClientApp, holdChannel, storeSession } from '../../support/client-app.js';
import { bearer, signIn, type Tokens } from '../../support/sign-in.js';
import { until } from '../../support/waiting.js';
import { use, useEach, useService } from '../../support/use.js';

const WINDOWS = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/156.0.0.0 Safari/537.36';

inChromium('showDevices() and showUser()', () => {
  let page: Page;
  let faults: string[];
  let user: string;

  const { service } = useService();
  const app = use(() => ClientApp.start());
  beforeAll(() => {
    app.service = service.url;
  });
  const browser = use(() => launchChromium());
  beforeEach(() => {
    app.policy = '';
    user = randomUUID();
    faults = [];
  });
  afterEach(() => expect(faults).toEqual([]));
  const context = useEach(() =>
    browser.newContext({ viewport: { width: 360, height: 740 }, reducedMotion: 'reduce' }),
  );
  beforeEach(async () => {
    context.setDefaultTimeout(20_000);
    page = await context.newPage();
    page.on('pageerror', ({ message }) => faults.push(message));
    page.on('console', (line) => {
      if (/Content Security Policy/.test(line.text())) faults.push(line.text());
    });
  });

  /** Another device of the user. */
  const addDevice = (body: object = {}): Promise<Tokens & { device_id: string }> => {
    const device_id = randomUUID();
    return signIn(service.url, user, { device_id, user_agent: WINDOWS, ...body }).then((tokens) => ({
      ...tokens,
      device_id,
    }));
  };
  /** Opens the page, signed in, and shows a component in an empty element. */
  const open = async (name: 'showDevices' | 'showUser', options: object = {}): Promise<void> => {
    await page.goto(`${app.url}/callback`);
    await storeSession(page, service.url, user);
    await page.goto(`${app.url}/?options=${encodeURIComponent(JSON.stringify(options))}`);
    await page.evaluate(`(async () => {
      window.errors = [];
      const place = document.body.appendChild(document.createElement('main'));
      window.remove = await latchkey.${name}(place, { onError: ({ code }) => errors.push(code) });
    })()`);
  };
  const rows = (): Locator => page.getByRole('listitem');
  const row = (text: string | RegExp): Locator => rows().filter({ hasText: text });
  const button = (name: string | RegExp): Locator => page.getByRole('button', { name });
  /** Answers the question before a sign-out. */
  const confirm = (): Promise<void> =>
    page.getByRole('group', { name: /\?$/ }).getByRole('button', { name: 'Sign out', exact: true }).click();
  const fold = (): Locator => page.getByText(/^Signed-out devices/);
  const hasRows = async (count: number): Promise<void> => {
    await page.waitForFunction(
      `document.querySelector('main > div')?.shadowRoot.querySelectorAll('li').length === ${count}`,
    );
  };

  it('shows devices that can be told apart, by sight and by the names of their buttons', async () => {
    await addDevice({ device_name: 'Kitchen' });
    await addDevice();
    await addDevice();
    await open('showDevices');
    await hasRows(4);
    expect(await row('This device').count()).toBe(1);
    const own = await row('Kitchen').textContent();
    for (const fact of ['Chrome 156 on Windows', 'Last used now', /First used \w+ \d+, \d{4}/])
      expect(own).toMatch(fact);
    const names = await page
      .getByRole('button')
      .evaluateAll((all) => all.filter((one) => one.checkVisibility()).map((one) => one.ariaLabel));
    const labels = names.filter(Boolean);
    expect(labels).toHaveLength(7); // each of them Rename, all but this one Sign out
    expect(new Set(labels).size).toBe(7);
    expect(labels).toContain('Sign out Kitchen, Chrome 156 on Windows 10/11, last used now');
  });

  it('shows at once what other devices do, and signs all others out', async () => {
    const other = await addDevice({ device_name: 'Study' });
    await open('showDevices');
    await hasRows(2);
    await row('This device').getByText('Online').waitFor();
    const { device_id: id } = other;
    await bearer(service.url, other.access_token).patch(`/devices/${id}`, { device_name: 'Attic' });
    await row('Attic').waitFor();
    await addDevice({ device_name: 'New one' });
    await row('New one').waitFor();
    await bearer(service.url, other.access_token).delete(`/devices/${id}`).expect(204);
    await row('Attic').waitFor({ state: 'detached' });

    await button('Sign out all other devices').click();
    await confirm();
    await page.getByRole('status').getByText('All other devices are signed out.').waitFor();
    await fold().click();
    await row('New one').getByText('Signed out').waitFor();
    expect(await button('Sign out all other devices').count()).toBe(0);
    await button(/^Remove New one/).click();
    await hasRows(1);
  });

  it('shows what other devices did while the channel was being opened', async () => {
    const { access_token, device_id: id } = await addDevice({ device_name: 'Study' });
    const release = await holdChannel(page);
    await open('showDevices');
    await row('Study').waitFor();
    await bearer(service.url, access_token).patch(`/devices/${id}`, { device_name: 'Attic' });
    release();
    await row('Attic').waitFor();
  });

  it('renames and signs out by keyboard, and keeps the focus', async () => {
    for (const device_name of ['One', 'Two', 'Three']) await addDevice({ device_name });
    await open('showDevices');
    await hasRows(4);
    const focused = (): Promise<string> =>
      page.evaluate(`document.activeElement.shadowRoot.activeElement.ariaLabel`);
    await button(/^Rename Two/).focus();
    await page.keyboard.press('Enter');
    expect(await focused()).toBe('Name of the device');
    await page.keyboard.type('Second');
    await page.keyboard.press('Escape');
    expect(await focused()).toMatch(/^Rename Two,/);
    await page.keyboard.press('Enter');
    await page.keyboard.type('Second');
    await page.keyboard.press('Enter');
    await row('Second').waitFor();
    expect(await focused()).toMatch(/^Rename Second,/);
    await page.keyboard.press('Tab');
    expect(await focused()).toMatch(/^Sign out Second,/);
    const textFocused = (): Promise<string> =>
      page.evaluate(`document.activeElement.shadowRoot.activeElement.textContent`);
    await page.keyboard.press('Enter');
    await page.getByRole('group', { name: 'Sign out Second?' }).waitFor();
    expect(await textFocused()).toBe('Cancel'); // a key that is pressed twice does nothing
    await page.keyboard.press('Enter');
    expect(await focused()).toMatch(/^Sign out Second,/);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    expect(await focused()).toMatch(/^Sign out Second,/);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Shift+Tab');
    expect(await textFocused()).toBe('Sign out');
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('Second is signed out.').waitFor();
    await hasRows(3);
    expect(await focused()).toMatch(/^Sign out (One|Three),/);
    await page.getByRole('status').getByText('Second is signed out.').waitFor();
  });

  it('folds the devices that are signed out, and removes them without a question', async () => {
    for (const device_name of ['One', 'Two', 'Three']) {
      const { access_token } = await addDevice({ device_name });
      if (device_name !== 'Two') await bearer(service.url, access_token).post('/sign-out').expect(204);
    }
    await open('showDevices');
    await hasRows(4);
    expect(await row(/One|Three/).count()).toBe(0); // hidden
    expect(await fold().textContent()).toBe('Signed-out devices (2)');
    await fold().focus();
    await page.keyboard.press('Enter');
    await row('Three').waitFor();
    await button(/^Remove Three/).click();
    await hasRows(3);
    expect(await fold().textContent()).toBe('Signed-out devices (1)');
    await button(/^Remove One/).click();
    await hasRows(2);
    expect(await fold().isVisible()).toBe(false);
    const focused = `document.activeElement.shadowRoot.activeElement.ariaLabel`;
    expect(await page.evaluate(focused)).toMatch(/^Sign out Two/);
  });

  it('loads 100 devices, and more if they are wanted', async () => {
    for (let n = 0; n < 11; n++) await Promise.all(Array.from({ length: 10 }, () => addDevice()));
    await open('showDevices');
    await hasRows(100);
    expect(await page.getByText('This device').filter({ visible: true }).count()).toBe(1);
    await button('Show more').click();
    await hasRows(111);
    expect(await button('Show more').count()).toBe(0);
    const labels = await button(/^Sign out Chrome/).evaluateAll((all) => all.map((one) => one.ariaLabel));
    expect(new Set(labels).size).toBe(110);
  });

  it('says that the list takes long, that it cannot be shown, and that there are no devices', async () => {
    await page.clock.install();
    let answer!: () => void;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/devices', async (route) => {
      await answered;
      await route.fulfill({ status: 500, json: { error: 'server_error', error_description: 'x' } });
    });
    await open('showDevices');
    await page.getByRole('status').getByText('One moment, please').waitFor();
    await page.clock.runFor(5000);
    await page.getByRole('status').getByText('This takes longer than usual.').waitFor();
    answer();
    await page.getByRole('alert').getByText('The devices cannot be shown at the moment.').waitFor();
    expect(await page.evaluate('errors[0]')).toBe('server_error');

    await page.unroute('**/devices');
    await page.route('**/devices', (route) => route.fulfill({ json: { devices: [] } }), { times: 1 });
    await button('Try again').click();
    await page.getByRole('status').getByText('There are no devices.').waitFor();
    await page.clock.runFor(31_000); // the next request
    await row('This device').waitFor();
    expect(await page.getByRole('alert').isVisible()).toBe(false);
  });

  it('keeps the list without a connection, marks it, and says what did not work', async () => {
    await addDevice({ device_name: 'Study' });
    await open('showDevices');
    await row('This device').getByText('Online').waitFor();
    await context.setOffline(true);
    await row('This device').getByText('Offline').waitFor();
    await page.getByRole('status').getByText('There is no connection.').waitFor();
    await button(/^Sign out Study/).click();
    await confirm();
    await page.getByRole('alert').getByText('That did not work.').waitFor();
    expect(await page.evaluate('errors')).toEqual(['network']);
    await context.setOffline(false);
    await row('This device').getByText('Online').waitFor();
    expect(await page.locator('[role=status]').textContent()).toBe('');
    await button(/^Sign out Study/).click();
    await confirm();
    await page.getByRole('status').getByText('Study is signed out.').waitFor();
    expect(await page.getByRole('alert').isVisible()).toBe(false);
  });

  it('follows the session: another user, none, and is gone if it is removed', async () => {
    await addDevice({ device_name: 'Study' });
    await open('showDevices', { askAgain: false });
    await hasRows(2);
    await storeSession(page, service.url, randomUUID());
    await hasRows(1);
    await page.evaluate('latchkey.signOut()');
    await rows().first().waitFor({ state: 'detached' });
    expect((await page.locator('main').textContent())?.trim()).not.toContain('moment');
    await page.evaluate('remove()');
    expect(await page.evaluate('document.querySelector("main").innerHTML')).toBe('');
  });

  // Two clients: only one of them waits for a file.
  it.each([
    ['showDevices', 'showUser', '.opener'],
    ['showUser', 'showDevices', 'li'],
    ['showProviders', 'showDevices', 'li'],
    ['showProviders', 'showUser', '.opener'],
  ])('shows what the latest call asks for: %s() ends after %s()', async (first, second, shown) => {
    await open('showUser', { askAgain: false });
    await button(/^Account/).waitFor();
    let answer!: () => void;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const isLate = first === 'showProviders' ? '**/providers' : '**/account-de.js';
    const asked = page.waitForRequest(isLate);
    await page.route(isLate, (route) => answered.then(() => route.continue()));
    await page.evaluate(`(async () => {
      const { createClient } = await import('/latchkey-client/index.js');
      const other = createClient({ url: ${JSON.stringify(service.url)}, redirectUri: '/callback', locale: 'de', askAgain: false });
      const place = document.querySelector('main');
      window.first = other.${first}(place);
      window.second = latchkey.${second}(place);
    })()`);
    await Promise.all([asked, page.locator(`main ${shown}`).first().waitFor()]);
    answer();
    await page.evaluate('first.then((removeFirst) => removeFirst?.())');
    expect(await page.evaluate('document.querySelector("main").children.length')).toBe(1);
    expect(await page.locator(`main ${shown}`).first().isVisible()).toBe(true);
    await page.evaluate('second.then((removeSecond) => removeSecond())');
    expect(await page.evaluate('document.querySelector("main").innerHTML')).toBe('');
  });

  it.each([
    ['another call for its element', `latchkey.showProviders(document.querySelector('main'))`],
    ['its removal with the open dialog', 'remove()'],
  ])('ends the requests of a list after %s', async (_why, end) => {
    await page.clock.install();
    await open('showUser');
    await button(/^Account/).click();
    await button('Your devices').click();
    await row('This device').waitFor();
    const asked = page.waitForRequest('**/devices');
    await page.clock.runFor(31_000);
    await asked;
    await page.evaluate(end);
    const late: string[] = [];
    page.on('request', (request) => late.push(request.url()));
    await page.clock.runFor(61_000);
    expect(late.filter((url) => url.endsWith('/devices'))).toEqual([]);
  });

  it('speaks the language of the client, with its replacements', async () => {
    await addDevice({ device_name: 'Küche' });
    await open('showDevices', { locale: 'de-AT', texts: { signOutOthers: 'Alle anderen raus' } });
    await row('Dieses Gerät').waitFor();
    await button(/^Abmelden: Küche, Chrome 156 auf Windows [^,]+, zuletzt benutzt: jetzt$/).waitFor();
    await button('Alle anderen raus').waitFor();
  });

  it('shows the dates of the browser with an invalid language', async () => {
    await addDevice({ device_name: 'Kitchen' });
    await open('showDevices', { texts: { language: 'pt_BR' } });
    await button(/^Rename: Kitchen, .*last used now$|^Rename Kitchen, .*last used now$/).waitFor();
  });

  it('shows the user, with a menu of devices and sign-outs', async () => {
    const other = await addDevice({ device_name: 'Study' });
    await open('showUser', { askAgain: false });
    const opener = button(/^Account( of|$)/);
    await opener.click();
    await button('Your devices').click();
    const dialog = page.getByRole('dialog', { name: 'Your devices' });
    await dialog.getByText('Study').waitFor();
    await dialog.getByRole('button', { name: /^Rename Study/ }).click();
    await page.keyboard.press('Escape'); // of the form, not of the dialog
    await dialog.getByRole('button', { name: /^Rename Study/ }).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await page.waitForFunction(`document.activeElement.shadowRoot?.activeElement?.className === 'opener'`);

    await opener.click();
    await button('Sign out everywhere').click();
    const question = page.getByRole('alertdialog');
    await question.getByText('All your devices are signed out').waitFor();
    await question.getByRole('button', { name: 'Cancel' }).click();
    await bearer(service.url, other.access_token).get('/me').expect(200);
    await opener.click();
    await button('Sign out everywhere').click();
    await question.getByRole('button', { name: 'Sign out everywhere' }).click();
    await opener.waitFor({ state: 'hidden' });
    await until(async () => (await bearer(service.url, other.access_token).get('/me')).status === 401); // the page is faster
    await storeSession(page, service.url, user);
    await opener.waitFor();
    await opener.click();
    await page.getByRole('group').getByRole('button', { name: 'Sign out', exact: true }).click();
    await opener.waitFor({ state: 'hidden' });
    expect(await page.evaluate('errors')).toEqual([]);
  });

  it('has no fault that axe-core knows, fits 360 px, and needs no exception of the strictest policy', async () => {
    app.policy = `default-src 'none'; script-src 'self' 'unsafe-eval'; connect-src ${service.url} ${service.url.replace('http', 'ws')}`;
    await addDevice({
      device_name: 'A name of a device that is as long as the table allows it to be '.repeat(2),
    });
    const gone = await addDevice({ device_name: 'Gone' });
    await bearer(service.url, gone.access_token).post('/sign-out').expect(204);
    const found: string[] = [];
    const look = async (state: string): Promise<void> => {
      expect([state, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([state, 360]);
      await page.evaluate(axe.source);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        // A page with a dark mode; axe-core needs to know its background.
        await page.evaluate(
          `document.documentElement.style.cssText = 'color-scheme: light dark; background: Canvas; color: CanvasText'`,
        );
        const { violations } = await page.evaluate<axe.AxeResults>(
          `axe.run(document, { resultTypes: ['violations'], rules: { region: { enabled: false }, 'page-has-heading-one': { enabled: false }, 'landmark-one-main': { enabled: false } } })`,
        );
        for (const { id, nodes } of violations)
          found.push(`${state}, ${colorScheme}: ${id}: ${nodes.map(({ html }) => html).join()}`);
      }
    };
    await open('showDevices');
    await hasRows(3);
    await row('This device').getByText('Online').waitFor();
    await look('devices');
    await fold().click();
    await row('Gone').waitFor();
    await look('fold');
    await button(/^Sign out A name/).click();
    await button('Sign out all other devices').click();
    await look('questions');
    for (const _ of [0, 1]) await button('Cancel').first().click();
    await button(/^Rename A name/).click();
    await look('form');
    await page.route('**/devices/*', (route) => route.abort());
    await button('Save').click();
    await page.getByRole('alert').getByText('That did not work.').waitFor();
    await look('error');
    await open('showUser');
    await button(/^Account/).click();
    await look('menu');
    await button('Your devices').click();
    await row('This device').getByText('Online').waitFor();
    await look('dialog');
    await page.keyboard.press('Escape');
    await button(/^Account/).click();
    await button('Sign out everywhere').click();
    await look('question');
    expect(found).toEqual([]);
  });
});
