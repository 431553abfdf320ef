import { randomUUID } from 'node:crypto';
import { query } from '../../support/database.js';
import { inChromium } from '../../support/chromium.js';
import { bearer, signIn } from '../../support/sign-in.js';
import { until } from '../../support/waiting.js';
import { expectAccessible, goTo, signInAs } from '../admin-visitor.js';
import { useVisitors } from '../demo-visitor.js';
import { useService } from '../../support/use.js';

const SERVICE_KEY = 'k'.repeat(32);
const CHROME = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/156.0.0.0 Safari/537.36';
const NAMES = ['שרה לוי', 'محمد العلي', '田中 美咲', 'Nguyễn Thị Minh Khai', '<b>Žofie</b>', 'x'.repeat(255)];

interface SeenEvent {
  readonly event: string;
  readonly actor: object;
}

inChromium('the administration page, on the service', () => {
  /** A user with three devices, who is signed in on each. */
  let user: string;
  let userName: string;

  const { provider, service } = useService({ SERVICE_KEYS: `backoffice=${SERVICE_KEY}` });
  const { page } = useVisitors();
  beforeAll(async () => {
    for (const username of NAMES) await register(username);
  });

  beforeEach(async () => {
    userName = `User ${randomUUID().slice(0, 8)}`;
    user = await register(userName, ['Laptop', 'Phone', 'Tablet']);
  });

  /** Signs a user in, on devices with these names. */
  async function register(username: string, devices: readonly string[] = ['Laptop']): Promise<string> {
    const id = randomUUID();
    const avatar_url = `https://avatars.example/${id}`; // not loaded: `leave` reports what the policy blocks
    provider.answerWith(200, { provider_user_id: id, username, email: `${id}@example.com`, avatar_url });
    let userId = '';
    for (const device_name of devices) {
      const device = { device_id: randomUUID(), device_name, user_agent: CHROME };
      ({ user_id: userId } = await signIn(service.url, id, device));
    }
    provider.reset();
    return userId;
  }
  const addDevices = (count: number): Promise<object[]> =>
    query(
      service.databaseUrl,
      `INSERT INTO devices (user_id, device_id, device_name, user_agent, created_at, last_seen_at)
       SELECT $1, gen_random_uuid(), 'Device ' || n, $2, now() - n * interval '1 hour', now() - n * interval '1 hour'
       FROM generate_series(1, $3) AS n`,
      [user, CHROME, count],
    );
  const enter = (name: 'Ada' | 'Grace' | 'Linus', path = '/admin'): Promise<void> =>
    signInAs(page, `${service.url}${path}`, name);
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
  const heading = (name: string) => page.getByRole('heading', { name, level: 1, exact: true });
  const device = (name: string) => page.getByRole('table', { name: 'Devices' }).getByRole('row', { name });
  const confirm = async (name: string): Promise<void> =>
    page.getByRole('dialog').getByRole('button', { name, exact: true }).click();
  const said = (text: string): Promise<void> => page.getByRole('status').getByText(text).waitFor();
  const byKey = () => bearer(service.url, SERVICE_KEY);
  async function eventsOf(userId: string): Promise<readonly SeenEvent[]> {
    const { body } = await byKey().get(`/audit?user_id=${userId}`).expect(200);
    return (body as { events: SeenEvent[] }).events;
  }
  /** Id of a demo user, found by e-mail address: other addresses may begin with "ada" as well. */
  async function own(name: 'Ada' | 'Linus'): Promise<string> {
    const { body } = await byKey().get(`/users?q=${name.toLowerCase()}@example.com`).expect(200);
    return (body as { users: { user_id: string }[] }).users[0]!.user_id;
  }

  it('shows the overview, which counts this sign-in', async () => {
    await enter('Ada');
    await heading('Overview').waitFor();
    await page.getByText('Figures as a table').click();
    const thisHour = page
      .getByRole('table', { name: /per hour/ })
      .getByRole('row')
      .nth(1);
    expect(Number(await thisHour.getByRole('cell').nth(1).innerText())).toBeGreaterThan(0);
    await page.getByRole('region', { name: 'Sign-ins' }).getByText('7 days').click();
    expect(
      await page
        .getByRole('table', { name: /per hour/ })
        .getByRole('row')
        .count(),
    ).toBe(169);
    await page.evaluate(`document.querySelector('figure.chart').style.display = 'none'`); // as in a folded view
    await page.locator('.chart svg[width="0"]').waitFor({ state: 'attached' });
    expect(await page.locator('.chart rect[width^="-"]').count()).toBe(0);
    await page.evaluate(`document.querySelector('figure.chart').style.display = ''`);
    const health = page.getByRole('region', { name: 'Providers' });
    await health.getByText('just now').first().waitFor();
    await expectAccessible(page, 'overview');

    await goTo(page, 'Users');
    await goTo(page, 'Overview');
    await page.getByRole('region', { name: 'How many could not sign in' }).getByText('7 days').click();
    await page.waitForURL(`${service.url}/admin?span=week`);
    await page.reload();
    await heading('Overview').waitFor();
  });

  it('finds users in every script, and shows one by a link, after a reload and on the way back', async () => {
    await enter('Ada');
    await goTo(page, 'Users');
    await expectAccessible(page, 'users');
    for (const name of NAMES) {
      await page.getByLabel('Search').fill(name.slice(0, 5));
      const link = page.getByRole('link', { name, exact: true });
      await link.waitFor();
      expect(await link.evaluate((element) => element.querySelector('bdi')?.textContent)).toBe(name);
    }
    await page.getByLabel('Search').fill(userName);
    await page.waitForURL((url) => url.searchParams.get('q') === userName);
    await page.getByRole('link', { name: userName }).click();
    await heading(userName).waitFor();
    expect(page.url()).toBe(`${service.url}/admin/users/${user}`);
    expect(await page.title()).toBe(`${userName} – Latchkey administration`);
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H1');
    await page.getByText('Chrome 156 on Windows 10/11').first().waitFor();
    await page.reload();
    await heading(userName).waitFor();
    await device('Phone').waitFor();
    await expectAccessible(page, 'user');
    await page.goBack();
    await heading('Users').waitFor();
    await page.getByRole('link', { name: userName }).waitFor();
    expect(await page.getByLabel('Search').inputValue()).toBe(userName);
    await page.goto(`${service.url}/admin/users/${randomUUID()}`);
    await page.getByRole('alert').getByText('not_found').waitFor();
  });

  it('does each action after a confirmation, and the audit trail names the person', async () => {
    await enter('Ada', `/admin/users/${user}`);
    await heading(userName).waitFor();
    const ada = { type: 'user', name: await own('Ada') };

    await button('Sign out everywhere').click();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Sign out everywhere');
    expect(await page.getByRole('table', { name: 'Sessions' }).getByRole('row').count()).toBe(4);

    await device('Phone').getByRole('button', { name: 'Sign out' }).click();
    await expectAccessible(page, 'confirmation');
    await confirm('Sign out');
    await said('One session has ended.');
    await device('Phone').waitFor({ state: 'detached' });
    await page.getByText('1 signed-out device', { exact: true }).waitFor();
    await page
      .getByRole('table', { name: 'Sessions' })
      .getByRole('button', { name: /^Sign out/ })
      .first()
      .click();
    await confirm('End the session');
    await page
      .getByRole('table', { name: 'Sessions' })
      .getByRole('row')
      .nth(2)
      .waitFor({ state: 'detached' });
    await button('Sign out everywhere').click();
    await confirm('Sign out everywhere');
    await page.getByText('This user is signed in nowhere.').waitFor();

    await button('Suspend').click();
    await confirm('Suspend');
    await said('The user is suspended.');
    await page.getByText('Suspended', { exact: true }).first().waitFor();
    await button('Restore').click();
    await confirm('Restore');
    await said('The user can sign in again.');

    await page.getByText('Edit the application’s claims').click();
    await page.getByRole('textbox').fill('{"roles": ["editor"]');
    await page.getByText('This is no JSON yet').waitFor();
    await page.getByRole('textbox').fill('{"roles": ["editor"]}');
    await button('Save').click();
    await confirm('Save');
    await said('The claims are saved.');
    await page.getByRole('table', { name: 'Claims' }).getByText('editor').waitFor();
    await button('Remove').click();
    await confirm('Remove');
    await heading('Users').waitFor();
    await said('The user is removed.');
    await byKey().get(`/users/${user}`).expect(404);

    const events = (await eventsOf(user)).filter(({ event }) => event !== 'sign_in');
    const names = events.map(({ event }) => event);
    expect(names.toReversed()).toEqual([
      ...Array<string>(3).fill('sign_out'),
      'user_suspended',
      'user_restored',
      'claims_changed',
      'user_removed',
    ]);
    for (const { event, actor } of events) expect([event, actor]).toEqual([event, ada]);
  });

  it('shows what the service refuses in the dialog, and tries again', async () => {
    await enter('Ada', `/admin/users/${user}`);
    await page.route('**/sign-out', (route) =>
      route.fulfill({
        status: 500,
        json: { error: 'server_error', error_description: 'something went wrong' },
      }),
    );
    await button('Sign out everywhere').click();
    await confirm('Sign out everywhere');
    await page.getByRole('dialog').getByRole('alert').getByText('Something went wrong.').waitFor();
    await page.unroute('**/sign-out');
    await confirm('Try again');
    await said('3 sessions have ended.');
  });

  it('offers the support only what it may do', async () => {
    await enter('Grace', `/admin/users/${user}`);
    await heading(userName).waitFor();
    await page.getByRole('region', { name: 'Audit' }).getByText('Signed in').first().waitFor();
    for (const name of ['Suspend', 'Remove']) expect(await button(name).count()).toBe(0);
    expect(await page.getByText('Edit the application').count()).toBe(0);
    await expectAccessible(page, 'user, for the support');
    await button('Sign out everywhere').click();
    await confirm('Sign out everywhere');
    await said('3 sessions have ended.');
    await goTo(page, 'Providers');
    await page.getByRole('heading', { name: 'Sample provider' }).waitFor();
    expect(await page.getByRole('button', { name: /^Test/ }).count()).toBe(0);
  });

  it('shows new events while it is open, and filters', async () => {
    await enter('Ada');
    await goTo(page, 'Audit');
    await button('Live').waitFor();
    const name = `Visitor ${randomUUID()}`;
    await register(name);
    await page.getByRole('link', { name }).waitFor({ timeout: 20_000 });
    await button('Details').first().click();
    await page.getByText('sign_in', { exact: true }).first().waitFor();
    await expectAccessible(page, 'audit');
    await page.getByRole('combobox', { name: 'Event' }).selectOption('Sign-in refused');
    await page.getByRole('link', { name }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('event')).toBe('sign_in_refused');
    await page.getByRole('combobox', { name: 'Event' }).selectOption('Any');
    await page.getByRole('searchbox', { name: 'Search' }).fill(user);
    const rows = page.getByRole('table', { name: 'Events' }).getByRole('row');
    await rows.nth(4).waitFor({ state: 'detached' });
    expect(await rows.getByText('Signed in').count()).toBe(3);
  });

  it('tests a sign-in with a provider, which signs nobody in', async () => {
    await enter('Ada');
    await goTo(page, 'Providers');
    const stub = page.getByRole('region', { name: 'stub' });
    await stub.locator('code', { hasText: `${service.url}/admin/callback` }).waitFor();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await stub.getByRole('button', { name: /^Copy.*\/admin\/callback/ }).click();
    await said('Copied');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`${service.url}/admin/callback`);

    const sessions = (): Promise<object[]> =>
      query(service.databaseUrl, 'SELECT session_id FROM refresh_tokens');
    const before = await sessions();
    const sample = page.getByRole('region', { name: 'Sample provider' });
    const [popup] = await Promise.all([
      page.waitForEvent('popup'),
      sample.getByRole('button', { name: 'Test a sign-in with Sample provider' }).click(),
    ]);
    await popup.getByRole('button', { name: 'Grace' }).waitFor();
    expect(await popup.evaluate('opener === null')).toBe(true);
    await popup.getByRole('button', { name: 'Grace' }).click();
    await sample.getByText('Grace Hopper', { exact: true }).waitFor();
    await sample.getByRole('table', { name: 'Kept claims' }).getByText('latchkey-support').waitFor();
    expect(popup.isClosed()).toBe(true);
    await expectAccessible(page, 'providers');
    expect(await sessions()).toEqual(before);
    await button('Account of Ada Lovelace').waitFor();
  });

  it('shows 2,000 devices', async () => {
    await addDevices(1997);
    await enter('Ada', `/admin/users/${user}`);
    const devices = page.getByRole('region', { name: 'Devices' });
    await devices.getByText('97 or more signed-out devices').click();
    // By tag and class: to look for the roles of thousands of elements takes the page's time.
    const [rows, more] = [devices.locator('tr'), devices.locator('.more button')];
    await rows.nth(101).waitFor();
    expect(await rows.count()).toBe(102); // two heads
    // The button vanishes at the end, and says "Loading …" between two pages.
    await until(async () => {
      if ((await rows.count()) === 2002) return true;
      await more
        .filter({ hasText: 'Load more' })
        .dispatchEvent('click', {}, { timeout: 2000 })
        .catch(() => undefined);
      return false;
    }, 'all devices are loaded');
    await more.waitFor({ state: 'detached' });
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  });

  it('shows what an action has changed in a list of more than a page', async () => {
    await addDevices(110);
    await enter('Ada', `/admin/users/${user}`);
    const rows = page.getByRole('region', { name: 'Devices' }).getByRole('row');
    await button('Load more').click();
    await page.getByText('110 signed-out devices', { exact: true }).click();
    await rows.nth(114).waitFor();
    await device('Phone').getByRole('button', { name: 'Sign out' }).click();
    await confirm('Sign out');
    await page.getByText('111 signed-out devices', { exact: true }).waitFor({ timeout: 30_000 });
    expect(await rows.count()).toBe(115); // two heads
  });

  it('works by keyboard alone', async () => {
    await enter('Ada');
    await heading('Overview').waitFor();
    const tabTo = async (name: RegExp): Promise<void> => {
      for (let presses = 0; presses < 100; presses++) {
        await page.keyboard.press('Tab');
        const focused = await page.evaluate<string>(
          `(({ ariaLabel, labels, textContent }) => ariaLabel ?? labels?.[0]?.textContent ?? textContent)(document.activeElement)`,
        );
        if (name.test(focused.trim())) return;
      }
      throw new Error(`${name.source} cannot be reached`);
    };
    await tabTo(/^Users$/);
    await page.keyboard.press('Enter');
    await heading('Users').waitFor();
    await tabTo(/^Search/);
    await page.keyboard.type(userName);
    await until(async () => (await page.getByRole('row').count()) === 2, 'one user');
    await tabTo(new RegExp(userName));
    await page.keyboard.press('Enter');
    await heading(userName).waitFor();
    await tabTo(/^Suspend$/);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await tabTo(/^Suspend$/);
    await page.keyboard.press('Enter');
    await said('The user is suspended.');
    await tabTo(/^Restore$/);
  });

  it('closes when the role is taken away', async () => {
    await enter('Linus');
    await heading('You need a role for this page').waitFor();
    const claims = `/users/${await own('Linus')}/claims`;
    await byKey()
      .put(claims, { claims: { roles: ['latchkey-support'] } })
      .expect(200);
    await page.reload();
    await heading('Overview').waitFor();
    await byKey().put(claims, { claims: {} }).expect(200);
    await goTo(page, 'Users').catch(() => undefined); // it may close before
    await heading('You need a role for this page').waitFor();
  });
});
