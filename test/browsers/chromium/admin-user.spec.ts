import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { inChromium } from '../../support/chromium.js';
import { query } from '../../support/database.js';
import { signIn } from '../../support/sign-in.js';
import { expectAccessible, signInAs } from '../admin-visitor.js';
import { useVisitors } from '../demo-visitor.js';
import { useService } from '../../support/use.js';

const chrome = (version: number): string =>
  `Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/${version}.0.0.0 Safari/537.36`;
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0';

/** A user's page: which device a session belongs to, and what tells devices apart (docs/support.md#stolen-laptop). */
inChromium('the page of a user', () => {
  let name: string;
  let user: string;

  const { service } = useService();
  const { page } = useVisitors();
  beforeEach(async () => {
    name = `user-${randomUUID().slice(0, 8)}`;
  });

  async function register(device: object): Promise<void> {
    ({ user_id: user } = await signIn(service.url, name, device));
  }
  const registerDevice = async (device_name: string, user_agent = chrome(156)): Promise<string> => {
    const device_id = randomUUID();
    await register({ device_id, device_name, user_agent });
    return device_id;
  };
  /** Devices with one name and one browser, each used at an address of its own. @param signedIn how many have a session */
  async function addEqualDevices(count: number, signedIn = count): Promise<void> {
    await query(
      service.databaseUrl,
      `INSERT INTO devices (user_id, device_id, device_name, user_agent, address, created_at, last_seen_at)
       SELECT $1, gen_random_uuid(), 'Laptop', $2, '192.0.2.' || n, now() - n * interval '1 day', now() - n * interval '1 hour'
       FROM generate_series(1, $3) AS n`,
      [user, chrome(156), count],
    );
    await query(
      service.databaseUrl,
      `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, user_agent, address, last_used_at, expires_at)
       SELECT user_id, gen_random_uuid(), device_id, sha256(device_id::text::bytea), user_agent, address, last_seen_at,
         now() + interval '1 day'
       FROM devices WHERE user_id = $1 AND address IS NOT NULL AND address LIKE '192.0.2.%'
       ORDER BY last_seen_at DESC LIMIT $2`,
      [user, signedIn],
    );
  }
  const enter = (who: 'Ada' | 'Grace' = 'Grace'): Promise<void> =>
    signInAs(page, `${service.url}/admin/users/${user}`, who);
  const region = (title: string) => page.getByRole('region', { name: title, exact: true });
  const rows = (table: string) => page.getByRole('table', { name: table, exact: true }).getByRole('rowgroup');
  const dialog = () => page.getByRole('dialog');
  const confirm = async (): Promise<void> =>
    dialog().getByRole('button', { name: 'Sign out', exact: true }).click();
  const said = (text: string): Promise<void> => page.getByRole('status').getByText(text).waitFor();

  it('names the device of each session, and goes to it', async () => {
    await registerDevice('Laptop');
    const phone = await registerDevice('Phone', FIREFOX);
    await register({ user_agent: FIREFOX });
    await enter();
    const sessions = region('Sessions');
    await sessions.getByText('No device named').waitFor();
    await sessions.getByRole('button', { name: `Phone ${phone.slice(0, 8)}` }).click();
    expect(await page.evaluate('document.activeElement.textContent')).toContain(`Phone`);
    expect(await page.evaluate('document.activeElement.id')).toBe(`device-${phone}`);
    await sessions.getByRole('button', { name: 'Details' }).first().click();
    await sessions.getByText('The application named none at the sign-in').waitFor();
    const link = await sessions.getByRole('link', { name: 'Events of this session' }).getAttribute('href');
    expect(link).toMatch(/^\/admin\/audit\?session_id=[\da-f-]{36}$/);
    await expectAccessible(page, 'sessions with their devices');
  });

  it('says at the sign-out of a device which sessions without one stay, and ends them, in one question', async () => {
    await registerDevice('Laptop', chrome(156));
    await registerDevice('Phone', FIREFOX);
    await register({ user_agent: chrome(155) }); // the browser has updated itself since
    await register({ user_agent: chrome(156) });
    await enter();
    const signOut = (device: string) =>
      region('Devices').getByRole('row', { name: device }).getByRole('button', { name: 'Sign out' });
    await signOut('Phone').click();
    await dialog().getByText('All sessions of').waitFor();
    expect(await dialog().getByRole('checkbox').count()).toBe(0); // another browser
    await page.keyboard.press('Escape');

    await signOut('Laptop').click();
    await dialog().getByText('2 sessions without a device in the same browser').waitFor();
    await dialog().getByText('Chrome 155 on Windows 10/11, 127.0.0.1').waitFor();
    await expectAccessible(page, 'sign-out with sessions without a device');
    await confirm();
    await said('One session has ended.');
    expect(await dialog().count()).toBe(0);
    await region('Sessions').getByText('No device named').nth(1).waitFor();

    await registerDevice('Laptop');
    await page.reload();
    await signOut('Laptop').click();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Space');
    await confirm();
    await said('3 sessions have ended.');
    await region('Sessions').getByText('No device named').first().waitFor({ state: 'detached' });
    expect(await rows('Sessions').count()).toBe(2); // head, and the phone
  });

  it('tells 212 equal devices apart, and finds one', async () => {
    await registerDevice('Phone', FIREFOX);
    await addEqualDevices(212);
    await enter();
    await rows('Devices').nth(100).waitFor();
    const texts = await rows('Devices').allInnerTexts();
    expect(new Set(texts).size).toBe(101);
    await expectAccessible(page, 'many equal devices');
    await page.getByLabel('Find a device').fill('192.0.2.77');
    await rows('Devices').nth(2).waitFor({ state: 'detached' });
    expect(await rows('Devices').nth(1).innerText()).toContain('192.0.2.77');
    await page.getByLabel('Find a device').fill('192.0.2.190');
    await region('Devices').getByText('No loaded device fits.').waitFor();
    await region('Devices').getByRole('button', { name: 'Search further' }).click();
    await rows('Devices').nth(1).getByText('192.0.2.190').waitFor();
    await page.getByLabel('Find a session').fill('firefox phone');
    await rows('Sessions').nth(2).waitFor({ state: 'detached' });
    await region('Sessions')
      .getByRole('button', { name: /^Phone/ })
      .click(); // whatever the search of devices hides
    expect(await page.evaluate('document.activeElement.textContent')).toContain('Phone');
    expect(await page.getByLabel('Find a device').inputValue()).toBe('');
  });

  it('folds signed-out devices, with their number', async () => {
    await registerDevice('Phone', FIREFOX);
    await addEqualDevices(12, 2);
    await enter();
    await rows('Devices').nth(3).waitFor();
    expect(await rows('Devices').count()).toBe(4);
    expect(await rows('Signed-out devices').count()).toBe(0);
    await region('Devices').getByText('10 signed-out devices').focus();
    await page.keyboard.press('Enter');
    await rows('Signed-out devices').nth(10).waitFor();
    await expectAccessible(page, 'signed-out devices');
    await region('Devices').getByText('10 signed-out devices').click();
    await page.getByLabel('Find a device').fill('192.0.2.12');
    await rows('Signed-out devices').nth(1).getByText('192.0.2.12').waitFor();
  });

  it('leads to refusals from before the user was known', async () => {
    const device = await registerDevice('Phone', FIREFOX);
    await enter();
    const audit = region('Audit');
    const href = async (link: string): Promise<string | null> =>
      page.getByRole('link', { name: link, exact: true }).getAttribute('href');
    await audit.getByText('A sign-in that fails before the user is known').waitFor();
    expect(await href('127.0.0.1')).toBe('/admin/audit?event=sign_in_refused&address=127.0.0.1');
    expect(await href('from all addresses')).toBe('/admin/audit?event=sign_in_refused');
    await region('Devices').getByRole('button', { name: 'Details' }).click();
    expect(await href('Refused sign-ins of this device')).toBe(
      `/admin/audit?event=sign_in_refused&device_id=${device}`,
    );
  });

  it('saves what is stored of a user as a file', async () => {
    const device_id = await registerDevice('Phone', FIREFOX);
    await enter();
    const button = page.getByRole('button', { name: 'Export', exact: true });
    const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
    expect(download.suggestedFilename()).toBe(`user-${user}.json`);
    const document = JSON.parse(await readFile(await download.path(), 'utf8')) as object;
    expect(document).toMatchObject({ user: { user_id: user }, devices: [{ device_id }] });
    await said('The file has what the service stores of this user.');
    await page.route('**/export', (route) =>
      route.fulfill({ status: 429, json: { error: 'slow_down', error_description: 'too many exports' } }),
    );
    await button.click();
    await said('The export failed. Too many exports.');
  });
});
