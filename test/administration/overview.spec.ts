import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { SignInCounts } from '../../src/audit/sign-in-counts.js';
import { Clock } from '../../src/platform/database/clock.js';
import request from 'supertest';
import { DataSource } from 'typeorm';
import { eventsOf } from '../support/audit.js';
import { query } from '../support/database.js';
import { bearer, beginSignIn, signIn } from '../support/sign-in.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { useEach } from '../support/use.js';

const HOUR_MS = 3_600_000;
/** Begin of the hour in which the tests play, so that none ends in another hour. */
const HOUR = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;

interface Overview {
  readonly hours: { hour: string; sign_ins: number | null; refusals: number | null }[];
  readonly refusals: { error: string; count: number }[];
  readonly users: number;
  readonly users_online: number;
  readonly live_sessions: number;
  readonly providers: Record<string, string | null>[];
}

/** GET /admin/overview. */
describe('the overview', () => {
  const provider = useEach(() => StubProvider.start());
  const service = useEach(() => startTestService({ ...provider.env(), SERVICE_KEYS: SERVICE_KEY }));

  /** Once all hours are counted: a caller waits for two seconds only. */
  const overviewOf = async (on = service): Promise<Overview> => {
    let overview: Overview;
    do overview = (await bearer(on.url, SERVICE_KEY).get('/admin/overview').expect(200)).body as Overview;
    while (overview.hours.some(({ sign_ins }) => sign_ins === null));
    return overview;
  };

  /** Inserts events of a time before HOUR, in which the service then is. */
  const insert = (ago: string, event: string, error: string | null, count: number, name = 'stub') => {
    jest.spyOn(service.app.get(Clock), 'now').mockReturnValue(HOUR + HOUR_MS / 2);
    return service.app.get(DataSource).query(
      `INSERT INTO audit_events (user_id, at, id, event, result, error, provider, actor_type)
       SELECT gen_random_uuid(), to_timestamp($6::float8 / 1000) - $1::interval, gen_random_uuid(), $2,
         CASE WHEN $3::text IS NULL THEN 'ok' ELSE 'refused' END, $3, $5, 'user' FROM generate_series(1, $4)`,
      [ago, event, error, count, name, HOUR],
    );
  };

  it('has the last 168 hours, oldest first, with the present one', async () => {
    await insert('-1 second', 'sign_in', null, 3); // of the present hour
    await insert('1 hour', 'sign_in', null, 5); // at its first moment
    await insert('1 microsecond', 'sign_in_refused', 'invalid_grant', 7); // at the last moment of the hour before
    await insert('167 hours', 'sign_in', null, 11);
    await insert('167 hours 1 microsecond', 'sign_in', null, 13); // too old
    await insert('1 hour', 'sign_out', null, 17);
    await insert('1 hour', 'refresh_refused', 'invalid_grant', 19);
    const { hours } = await overviewOf();
    expect(hours).toHaveLength(168);
    const times = hours.map(({ hour }) => Date.parse(hour));
    expect(times).toEqual(times.map((_, i) => HOUR - (167 - i) * HOUR_MS));
    const told = hours.flatMap(({ sign_ins, refusals }, i) =>
      sign_ins || refusals ? [[i, sign_ins, refusals]] : [],
    );
    expect(told).toEqual([
      [0, 11, 0],
      [166, 5, 7],
      [167, 3, 0],
    ]);
  });

  it('has the most frequent errors of 24 hours, and few of the errors that clients invent', async () => {
    await insert('2 hours', 'sign_in_refused', 'access_denied', 3);
    await insert('23 hours', 'sign_in_refused', 'access_denied', 4);
    await insert('24 hours 1 second', 'sign_in_refused', 'access_denied', 100);
    for (let i = 0; i < 40; i++) await insert('3 hours', 'sign_in_refused', `invented_${i}`, 1);
    await insert('3 hours', 'sign_in_refused', 'invalid_grant', 2);
    const { refusals } = await overviewOf();
    expect(refusals).toHaveLength(10);
    expect(refusals.slice(0, 2)).toEqual([
      { error: 'other', count: 31 },
      { error: 'access_denied', count: 7 },
    ]);
    expect(refusals).toContainEqual({ error: 'invalid_grant', count: 2 });
  });

  it('has the last success and failure of each provider, and nothing of unknown ones', async () => {
    await insert('5 hours', 'sign_in', null, 1);
    await insert('6 hours', 'sign_in', null, 1);
    await insert('7 hours', 'sign_in_refused', 'access_denied', 9);
    await insert('4 hours', 'sign_in_refused', 'server_error', 1);
    await insert('1 hour', 'sign_in', null, 1, 'removed-since');
    const { providers } = await overviewOf();
    const at = (ago: number): string => new Date(HOUR - ago * HOUR_MS).toISOString();
    expect(providers).toEqual([
      {
        name: 'mock',
        label: 'Sample provider',
        last_success_at: null,
        last_failure_at: null,
        last_error: null,
      },
      {
        name: 'stub',
        label: 'stub',
        last_success_at: at(5),
        last_failure_at: at(4),
        last_error: 'server_error',
      },
    ]);
  });

  it('counts each event once, in many readings while time goes on', async () => {
    const counts = service.app.get(SignInCounts);
    /** Counts at a time; returns all sign-ins of the seven days before. */
    const countAt = async (time: number): Promise<number> => {
      jest.spyOn(service.app.get(Clock), 'now').mockReturnValue(time);
      await counts.count();
      const all = (await counts.read()).flatMap((hour) => hour.counts!);
      return all.reduce((sum, { event, events }) => sum + (event === 'sign_in' ? events : 0), 0);
    };
    const seen: number[] = [];
    const times = Array.from({ length: 33 }, (_, i) => 25 * (i - 16)); // seconds after HOUR
    for (const time of times) {
      await insert(`${3 - time} seconds`, 'sign_in', null, 2);
      await insert(`${90 - time} seconds`, 'sign_out', null, 1);
      seen.push(await countAt(HOUR + time * 1000));
    }
    expect(seen).toEqual(times.map((_, i) => 2 * (i + 1)));
    const later = [6, 8, 30].map((days) => HOUR + days * 24 * HOUR_MS);
    expect([await countAt(later[0]!), await countAt(later[1]!), await countAt(later[2]!)]).toEqual([
      66, 0, 0,
    ]);
  });

  it('counts sign-ins and refusals as they happen, and no test of a provider', async () => {
    const { databaseUrl, url } = service;
    const began = Date.now();
    await eventsOf(databaseUrl, 4, async () => {
      await signIn(url, 'ada');
      await signIn(url, 'grace');
      const state = await beginSignIn(url);
      provider.answerWith(400, { error: 'invalid_grant' });
      await request(url).post('/oauth2/token').send({ code: 'c', state }).expect(401);
      const test = bearer(url, SERVICE_KEY);
      const { body } = await test.post('/admin/providers/stub/test').expect(200);
      await test.post('/admin/providers/stub/test', { code: 'c', state: body.state }).expect(200);
      await test.post('/admin/providers/stub/test', { code: 'c', state: body.state }).expect(401);
    });
    const { hours, refusals, providers } = await overviewOf();
    const sum = (name: 'sign_ins' | 'refusals'): number =>
      hours.reduce((total, hour) => total + (hour[name] ?? 0), 0);
    expect([sum('sign_ins'), sum('refusals')]).toEqual([2, 1]);
    expect(refusals).toEqual([{ error: 'invalid_grant', count: 1 }]);
    const stub = providers.find(({ name }) => name === 'stub')!;
    expect(stub['last_error']).toBe('invalid_grant');
    const [success, failure] = [stub['last_success_at']!, stub['last_failure_at']!].map((at) =>
      Date.parse(at),
    );
    expect(success).toBeLessThanOrEqual(failure!);
    expect(success).toBeGreaterThan(began - 60_000);
  });

  it('counts users, those online on any instance, and living sessions', async () => {
    const [ada, grace] = [await signIn(service.url, 'ada'), await signIn(service.url, 'grace')];
    await signIn(service.url, 'ada', { device_id: randomUUID() });
    await signIn(service.url, 'linus');
    await bearer(service.url, grace.access_token).post('/sign-out').expect(204);
    const other = await startTestService({
      ...provider.env(),
      DATABASE_URL: service.databaseUrl,
      PUBLIC_URL: service.url,
      SERVICE_KEYS: SERVICE_KEY,
    });
    const socket = await SocketClient.connect(other.url, ada.access_token);
    try {
      const SELECT = 'SELECT count(*)::int AS rows FROM presence';
      await until(async () => (await query<{ rows: number }>(service.databaseUrl, SELECT))[0]!.rows === 1);
      expect(await overviewOf()).toMatchObject({ users: 3, users_online: 1, live_sessions: 3 });
    } finally {
      socket.close();
      await other.close();
    }
  });
});
