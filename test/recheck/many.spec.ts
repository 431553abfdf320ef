import { setTimeout as delay } from 'node:timers/promises';
import request from 'supertest';
import { deriveUserId } from '../../src/identity/user-id.js';
import { parseSettings } from '../../src/settings.js';
import { createDatabase, query } from '../support/database.js';
import { DataSource } from 'typeorm';
import { CheckStore } from '../../src/features/recheck/check.store.js';
import { Endings } from '../support/endings.js';
import { startTestService, type TestService } from '../support/service.js';
import { KEYS, startServiceProcess } from '../support/service-process.js';
import { until } from '../support/waiting.js';
import { Events } from '../../src/platform/events.js';
import { insertDue } from './due-users.js';
import { checkOf, makeDue, RefreshingProvider } from './refreshing-provider.js';

const USERS = 1000;
const SOME = 300; // more than a slice of due users

/** Many users are due at once (docs/guides/recheck.md). */
describe('re-checks of many users', () => {
  let endings: Endings;
  let provider: RefreshingProvider;
  beforeEach(async () => {
    endings = new Endings();
    provider = endings.after(await RefreshingProvider.start(), (one) => one.close());
  });
  afterEach(() => endings.run());

  const start = async (env: Record<string, string>): Promise<TestService> =>
    endings.after(await startTestService(env), (one) => one.close());

  const allApplied = async ({ databaseUrl }: TestService): Promise<void> => {
    const left = `SELECT FROM provider_checks WHERE checked_at < now() - interval '1 hour' LIMIT 1`;
    const isDone = async (): Promise<boolean> => (await query(databaseUrl, left, [])).length === 0;
    await until(isDone, 'all answers are applied', 150_000); // how soon is not promised
  };

  it('two instances ask about each of hundreds once, oldest first', async () => {
    const env = provider.env('CORP', { RECHECK_RATE: '500' });
    const here = await start(env);
    const there = await start({ ...env, DATABASE_URL: here.databaseUrl });
    let failed = 0; // on a busy machine a call may time out: then there is another one
    for (const { app } of [here, there]) {
      app.get(Events).on('provider.called', ({ error }) => (failed += error === undefined ? 0 : 1));
    }
    provider.rotates = false;
    await insertDue(here, provider, 'many', SOME);
    await allApplied(here);
    const logins = new Set(provider.refreshes.map(({ login }) => login));
    expect(logins.size).toBe(SOME);
    expect(provider.refreshes.length).toBeLessThanOrEqual(SOME + failed);
    const early = [...logins].slice(0, SOME / 4).map((login) => Number(login.split('-')[1]));
    const mean = early.reduce((sum, place) => sum + place, 0) / early.length;
    expect(mean).toBeLessThan(SOME * 0.4); // in order it is an eighth, in any order a half
  });

  it('a provider that answers only 25 a second gets no more calls at a time than it answers in time', async () => {
    const service = await start(provider.env('CORP', { RECHECK_RATE: '500' }));
    provider.work = 40; // 200 calls at a time would take 8 s each, and a call fails after 5 s
    await insertDue(service, provider, 'slow', SOME);
    await until(() => provider.refreshes.length >= SOME, 'all are asked about', 150_000);
    expect(provider.mostAtOnce).toBeLessThan(100);
  });

  it('one caller at a time gets a user, for a minute', async () => {
    const service = await start({}); // which asks nobody
    await insertDue(service, provider, 'leased', 50);
    const store = new CheckStore(service.app.get(DataSource));
    const ids = (await store.findDue('corp')).map(({ userId }) => userId);
    expect(ids.length).toBe(50);
    const leased = await Promise.all([store.lease(ids), store.lease(ids), store.lease(ids)]);
    expect(
      leased
        .flat()
        .map(({ userId }) => userId)
        .toSorted(),
    ).toEqual(ids.toSorted());
    expect(await store.lease(ids)).toEqual([]);
    await query(service.databaseUrl, `UPDATE provider_checks SET due_at = now() - interval '1 minute'`, []);
    expect(await store.lease(ids)).toHaveLength(50);
  });

  it('asks no faster than recheck_rate, says how late it is, and answers others', async () => {
    const rate = 5;
    const service = await start(provider.env('CORP', { RECHECK_RATE: String(rate) }));
    const began = performance.now();
    await insertDue(service, provider, 'slow', USERS);
    await until(() => provider.refreshes.length >= 6 * rate, 'some are asked about');
    const seconds = (performance.now() - began) / 1000;
    expect(provider.refreshes.length).toBeLessThanOrEqual(rate * (seconds + 2));
    const { text } = await request(service.url).get('/metrics').expect(200);
    const [, late] = /^latchkey_recheck_delay_seconds (\S+)$/m.exec(text) ?? [];
    expect(Number(late)).toBeGreaterThan(3000);
    const warnings = service.log.filter((line) => line.includes('raise recheck_rate'));
    expect(warnings.length).toBe(1);
  });

  it('users without a session in use delay nobody, and rows without a session go', async () => {
    const service = await start(provider.env('CORP', { RECHECK_RATE: '1' }));
    const half = `user_id < '80000000-0000-0000-0000-000000000000'`;
    const idle = ['DELETE FROM access_tokens', `DELETE FROM refresh_tokens WHERE ${half}`];
    await insertDue(service, provider, 'idle', USERS, idle);
    await insertDue(service, provider, 'used', 1);
    await until(() => provider.refreshes.length > 0, 'the user with a session in use is asked about');
    expect(provider.refreshes.map(({ login }) => login)).toEqual(['used-0']);
    const states = await query(
      service.databaseUrl,
      `SELECT ${half} AS half, due_at IS NULL AS rests FROM provider_checks GROUP BY 1, 2`,
      [],
    );
    expect(states).toContainEqual({ half: false, rests: true });
    expect(states).not.toContainEqual({ half: true, rests: true });
  });

  it('an instance that is killed between answer and store costs a sign-in, and no session is endless', async () => {
    const env = provider.env();
    const database = endings.after(await createDatabase(), (one) => one.close());
    const here = { databaseUrl: database.url, settings: parseSettings({ ...KEYS, ...env }) };
    // The answer with the new token arrives nowhere: the process is killed before.
    const child = await startServiceProcess({ ...env, DATABASE_URL: here.databaseUrl });
    provider.pause = 60_000;
    await insertDue(here, provider, 'killed', 1);
    await until(() => provider.countOf('killed-0') === 1, 'the provider is asked');
    await child.end('SIGKILL');
    provider.tokens.clear(); // it rotated the token
    provider.reset();
    await start({ ...env, ...KEYS, DATABASE_URL: here.databaseUrl });
    const userId = deriveUserId('corp', 'killed-0');
    expect(await checkOf(here.databaseUrl, userId)).toMatchObject({ due: false }); // the lease
    await delay(500);
    expect(provider.refreshes.length).toBe(1);
    await makeDue(here.databaseUrl, userId); // as a minute later
    await until(async () => (await checkOf(here.databaseUrl, userId)) === undefined, 'the row is removed');
    const [session] = await query<{ cause: string }>(
      here.databaseUrl,
      'SELECT ends_because AS cause FROM refresh_tokens WHERE user_id = $1 AND signed_out_at IS NOT NULL',
      [userId],
    );
    expect(session).toEqual({ cause: 'provider_ended' });
  });
});
