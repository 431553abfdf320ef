import { inChromium } from '../../support/chromium.js';
import { startTestService } from '../../support/service.js';
import { expectAccessible, goTo, signInAs } from '../admin-visitor.js';
import { useVisitors } from '../demo-visitor.js';
import { use } from '../../support/use.js';

type Answer = object | number | 'never';

const SESSION = {
  user_id: '00000000-0000-4000-8000-000000000001',
  username: 'Ada Lovelace',
  right: 'users',
  admin_role: 'latchkey-admin',
  support_role: 'latchkey-support',
};
const HOURS = Array.from({ length: 168 }, (_, index) => ({
  hour: new Date(Date.UTC(2026, 10, 20) + index * 3_600_000).toISOString(),
  sign_ins: index === 150 ? null : 0,
  refusals: index === 150 ? null : 0,
}));
const NOTHING: Record<string, Answer> = {
  '/admin/session': SESSION,
  '/admin/overview': {
    hours: HOURS,
    refusals: [],
    users: 0,
    users_online: 0,
    live_sessions: 0,
    providers: [],
  },
  '/admin/providers': { providers: [] },
  '/users': { users: [] },
  '/admin/trail': { events: [] },
  '/audit/counts': { counts: [], since: new Date(0).toISOString(), until: new Date().toISOString() },
};
const REFUSED = { error: 'server_error', error_description: 'something went wrong' };

/** States that the service is rarely in, with answers made up here. */
inChromium('the administration page', () => {
  let answers: Record<string, Answer>;

  const service = use(() => startTestService());
  const { page } = useVisitors();
  beforeEach(async () => {
    answers = { ...NOTHING };
    await page.route(
      ({ pathname }) => pathname in answers,
      async (route) => {
        const answer = answers[new URL(route.request().url()).pathname]!;
        if (answer === 'never') return;
        await (typeof answer === 'number'
          ? route.fulfill({ status: answer, json: REFUSED })
          : route.fulfill({ json: answer }));
      },
    );
    await signInAs(page, `${service.url}/admin`, 'Ada');
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  });

  it('says that there is nothing yet', async () => {
    await page.getByText('No sign-in was refused.').waitFor();
    await page.getByText('Figures as a table').click();
    await page.getByText('not counted yet').first().waitFor({ state: 'attached' });
    await expectAccessible(page, 'overview');
    await goTo(page, 'Users');
    await page.getByText('No user has signed in yet.').waitFor();
    await page.getByLabel('Search').fill('nobody');
    await page.getByText('No user fits.').waitFor();
    await expectAccessible(page, 'users');
    await goTo(page, 'Audit');
    await page.getByText('There is no such event.').waitFor();
    await expectAccessible(page, 'audit');
    await goTo(page, 'Providers');
    await page.getByText('No provider is enabled.').waitFor();
    await expectAccessible(page, 'providers');
  });

  it('says how far back the refused sign-ins could be counted', async () => {
    const since = new Date().toISOString();
    answers['/audit/counts'] = {
      counts: [{ key: 'cancelled', attempts: 99_000, people: 812 }],
      since,
      until: since,
    };
    await page.reload();
    await page.getByText('There are too many events to count all').waitFor();
    await page.getByText('99,000 attempts of 812 people').waitFor();
    await expectAccessible(page, 'a part of the refusals');
  });

  it.each([
    ['Overview', '/admin/overview'],
    ['Users', '/users'],
    ['Audit', '/admin/trail'],
    ['Providers', '/admin/providers'],
  ] as const)('shows what went wrong at %s, and tries again', async (view, path) => {
    answers[path] = 400;
    await page.goto(`${service.url}/admin`);
    await goTo(page, view);
    await page.getByRole('alert').getByText('Something went wrong. server_error').waitFor();
    await expectAccessible(page, view);
    answers[path] = NOTHING[path]!;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
  });

  it('shows that it loads, and that the service cannot be reached; then it goes on by itself', async () => {
    answers['/users'] = 'never';
    await goTo(page, 'Users');
    await page.getByText('Loading users').waitFor({ state: 'attached' });
    await expectAccessible(page, 'loading');
    delete answers['/admin/providers'];
    await page.context().setOffline(true);
    await goTo(page, 'Providers');
    await page.getByRole('alert').getByText('Latchkey cannot be reached.').waitFor();
    await page.context().setOffline(false);
    answers = { ...NOTHING };
    await page.getByText('No provider is enabled.').waitFor();
  });

  it('follows short and empty pages of a search five times, then asks', async () => {
    const asked: (string | null)[] = [];
    await page.route(
      ({ pathname, searchParams }) => pathname === '/users' && searchParams.get('q') === 'rare',
      async (route) => {
        asked.push(new URL(route.request().url()).searchParams.get('cursor'));
        await route.fulfill({ json: { users: [], next_cursor: String(asked.length) } });
      },
    );
    await page.goto(`${service.url}/admin/users?q=rare`);
    await page.getByText('No user found so far').waitFor();
    expect(asked).toEqual([null, '1', '2', '3', '4']);
    const last = page.waitForRequest((one) => one.url().endsWith('cursor=9'));
    await page.getByRole('button', { name: 'Search further' }).click();
    await last;
    await page.getByRole('button', { name: 'Search further' }).waitFor();
    expect(asked.slice(5)).toEqual(['5', '6', '7', '8', '9']);
  });
});
