import { randomUUID } from 'node:crypto';
import type { Locator } from 'playwright-core';
import request from 'supertest';
import { inChromium } from '../../support/chromium.js';
import { bearer, beginSignIn, signIn, type Tokens } from '../../support/sign-in.js';
import { until } from '../../support/waiting.js';
import { expectAccessible, signInAs } from '../admin-visitor.js';
import { useVisitors } from '../demo-visitor.js';
import { useService } from '../../support/use.js';

const SERVICE_KEY = 'k'.repeat(32);
const CHROME = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/156.0.0.0 Safari/537.36';

interface SeenEvent {
  readonly event: string;
  readonly request_id: string;
  readonly session_id: string;
  readonly device_id: string;
}

/** What docs/support.md does with the audit trail. */
inChromium('the audit trail of the administration page', () => {
  /** A user who is signed in on a laptop and on a phone. */
  let user: string;
  let userName: string;
  let phone: Tokens;
  const devices = { Laptop: '', Phone: '' };

  const { provider, service } = useService({ SERVICE_KEYS: `backoffice=${SERVICE_KEY}` });
  const { page } = useVisitors();
  beforeEach(async () => {
    userName = `User ${randomUUID().slice(0, 8)}`;
    const id = randomUUID();
    provider.answerWith(200, { provider_user_id: id, username: userName });
    for (const name of ['Laptop', 'Phone'] as const) {
      devices[name] = randomUUID();
      const device = { device_id: devices[name], device_name: name, user_agent: CHROME };
      phone = await signIn(service.url, id, device);
      user = phone.user_id;
    }
    provider.reset();
  });

  /** Id of a user at the provider. */
  const idOf = async (userId: string): Promise<string> =>
    ((await byKey().get(`/users/${userId}`).expect(200)).body as { provider_user_id: string })
      .provider_user_id;
  const enter = (path: string): Promise<void> => signInAs(page, `${service.url}/admin${path}`, 'Grace');
  const byKey = () => bearer(service.url, SERVICE_KEY);
  const rows = (): Locator => page.getByRole('table', { name: 'Events' }).getByRole('row');
  const search = (): Locator => page.getByRole('searchbox', { name: 'Search' });
  const filters = () => Object.fromEntries(new URL(page.url()).searchParams);
  const isFilteredBy = (name: string, value: string) =>
    page.waitForURL((url) => url.searchParams.get(name) === value);
  async function eventsOf(query: string): Promise<SeenEvent[]> {
    const { body } = await byKey().get(`/audit?${query}`).expect(200);
    return (body as { events: SeenEvent[] }).events;
  }
  /** Refuses a sign-in: the user has closed the dialog, or said no. */
  async function refuse(error: string): Promise<void> {
    const state = await beginSignIn(service.url);
    await request(service.url).post('/oauth2/callback-error').send({ state, error }).expect(204);
  }

  it('shows names, browser and what is new in the rows', async () => {
    await enter(`/audit?user_id=${user}`);
    const onPhone = rows().filter({ hasText: 'Phone' });
    await onPhone.getByRole('link', { name: userName }).waitFor();
    await onPhone.getByText('Chrome 156 on Windows 10/11').waitFor();
    await onPhone.getByText('New device').waitFor();
    expect(await onPhone.getByText('New network').count()).toBe(0);
    await rows().filter({ hasText: 'Laptop' }).getByText('New network').waitFor();
    await page.getByRole('button', { name: `Remove the filter User ${userName}` }).waitFor();
    await page.getByRole('button', { name: 'More filters' }).click();
    await page.getByRole('combobox', { name: 'New network' }).selectOption('Only these');
    await onPhone.waitFor({ state: 'detached' });
    expect(filters()).toEqual({ user_id: user, new_network: 'true' });
    await expectAccessible(page, 'audit with filters');
  });

  it('finds whatever id, address or error is pasted', async () => {
    const [event] = await eventsOf(`user_id=${user}&event=sign_in`);
    await enter('/audit?event=sign_out');
    await search().fill(event!.request_id);
    await isFilteredBy('request_id', event!.request_id);
    expect(filters()).toEqual({ request_id: event!.request_id });
    await rows().getByRole('link', { name: userName }).waitFor();
    expect(await search().inputValue()).toBe('');
    await page.getByRole('button', { name: /^Remove the filter Request/ }).click();
    await page.waitForURL((url) => url.search === '');
    for (const name of ['session_id', 'device_id'] as const) {
      await search().fill(` ${event![name]}`);
      await isFilteredBy(name, event![name]);
      await page.getByRole('link', { name: 'Remove all filters' }).click();
    }
    await search().fill('192.0.2.17');
    await page.keyboard.press('Enter');
    await isFilteredBy('address', '192.0.2.17');
    await page.getByText('There is no such event.').waitFor();
    await search().fill('invalid_grant');
    await page.keyboard.press('Enter');
    await isFilteredBy('error', 'invalid_grant');
    expect(filters()).toEqual({ address: '192.0.2.17', error: 'invalid_grant' });
    await search().fill('Maria Lopez');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Search the users' }).click();
    expect(page.url()).toBe(`${service.url}/admin/users?q=Maria%20Lopez`);
  });

  it('follows each value of an event, and says what to tell the caller', async () => {
    await refuse('cancelled');
    await enter(`/audit?user_id=${user}`);
    for (const [name, id] of [
      ['session', 'session_id'],
      ['device', 'device_id'],
      ['address', 'address'],
      ['request', 'request_id'],
      ['user', 'user_id'],
    ] as const) {
      const onPhone = rows().filter({ hasText: userName }).filter({ hasText: 'Phone' });
      const details = onPhone.getByRole('button', { name: 'Details' });
      if ((await details.getAttribute('aria-expanded')) !== 'true') await details.click();
      await page
        .getByRole('link', { name: new RegExp(`^Events with the ${name} `) })
        .first()
        .click();
      await page.waitForURL((url) => url.searchParams.has(id) && url.searchParams.size === 1);
    }
    await page.goto(`${service.url}/admin/audit?error=cancelled`);
    await rows().getByRole('button', { name: 'Details' }).first().click();
    await page.getByText('The person closed the sign-in before its end.').waitFor();
    await page.getByText('Please begin again and finish the sign-in.').waitFor();
    await expectAccessible(page, 'details');
  });

  it('shows what has changed in claims', async () => {
    const set = (claims: object) => byKey().put(`/users/${user}/claims`, { claims }).expect(200);
    await set({ roles: ['viewer'] });
    await set({ roles: ['editor'] });
    await enter(`/audit?user_id=${user}&event=claims_changed`);
    const last = rows().nth(1);
    await last.getByText('Claims of the application').waitFor();
    expect(await last.locator('.change').allInnerTexts()).toEqual([
      expect.stringMatching(/Added:\s*roles\s*editor/),
      expect.stringMatching(/Removed:\s*roles\s*viewer/),
    ]);
    await expectAccessible(page, 'claims');
  });

  it('names the device that has signed another one out, and says so of the refused refresh', async () => {
    const laptop = await signIn(service.url, await idOf(user), { device_id: devices.Laptop });
    await bearer(service.url, phone.access_token).delete(`/devices/${devices.Laptop}`).expect(204);
    await request(service.url).post('/oauth2/refresh').send(laptop).expect(401);
    await until(
      async () => (await eventsOf(`user_id=${user}&event=refresh_refused`)).length > 0,
      'it is stored',
    );
    await enter(`/audit?user_id=${user}`);
    const refused = rows().filter({ hasText: 'Refresh refused' });
    await refused.getByText(/^Ended by device Phone, /).waitFor();
    const signedOut = rows().filter({ hasText: 'Signed out' }).first();
    await signedOut.getByText(/By device Phone/).waitFor();
    await signedOut.getByRole('link', { name: 'Phone' }).click();
    await isFilteredBy('device_id', devices.Phone);
  });

  it('counts who could not sign in, and leads to the events', async () => {
    const before = await countOf('access_denied');
    for (let n = 0; n < 3; n++) await refuse('access_denied');
    await until(async () => (await countOf('access_denied')) === before + 3, 'the refusals are stored');
    await enter('');
    const card = page.getByRole('region', { name: 'How many could not sign in, and why' });
    const row = card.getByRole('row', { name: /^access_denied/ });
    await row.getByText('Tell the caller').waitFor();
    expect(await row.getByRole('cell').nth(1).innerText()).toBe(String(before + 3));
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route(/\/audit\/counts/, (route) => released.then(() => route.continue()));
    await card.getByText('7 days', { exact: true }).click();
    await card.getByText('Loading the refused sign-ins').waitFor({ state: 'attached' });
    expect(await card.locator('.total').innerText()).toBe(''); // not the number of the last hour
    release();
    await row.waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    for (const span of ['Today', '7 days', 'Last hour']) {
      await card.getByText(span, { exact: true }).click();
      await row.waitFor();
    }
    for (const by of ['Provider', 'Hour', 'Event']) {
      await card.getByText(by, { exact: true }).click();
      await card
        .getByRole('table', { name: `Refused by ${by.toLowerCase()}` })
        .getByRole('link')
        .first()
        .waitFor();
      await expectAccessible(page, by);
    }
    await card.getByText('Error', { exact: true }).first().click();
    await row.getByRole('link').click();
    await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor();
    expect(filters()).toMatchObject({ event: 'sign_in_refused', error: 'access_denied' });
    expect(Date.now() - Date.parse(filters()['since']!)).toBeLessThan(3_700_000);
    await rows()
      .nth(before + 3)
      .waitFor();
  });

  it('leads from the bar of an hour to its events, by keyboard', async () => {
    await enter('');
    await page.getByRole('group', { name: /^Sign-ins and refused/ }).waitFor();
    await page.getByRole('radio', { name: '24 hours' }).focus();
    await page.keyboard.press('Tab');
    const link = page.locator('.hour-links a:focus');
    await link.waitFor();
    expect(await link.getAttribute('aria-label')).toMatch(/: \d+ (?:sign-ins|refused)$/);
    await page.keyboard.press('Home');
    expect(await link.getAttribute('aria-label')).toMatch(/: \d+ sign-ins$/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor();
    const { event, since = '', until: end = '' } = filters();
    expect([event, Date.parse(end) - Date.parse(since)]).toEqual(['sign_in', 3_600_000]);
    await rows().getByText('Signed in').first().waitFor();
  });

  async function countOf(error: string): Promise<number> {
    const { body } = await byKey().get('/audit/counts?by=error&event=sign_in_refused').expect(200);
    const { counts } = body as { counts: { key: string; attempts: number }[] };
    return counts.find(({ key }) => key === error)?.attempts ?? 0;
  }
});
