import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Response, Test } from 'supertest';
import { query } from '../support/database.js';
import { SERVICE_KEY } from '../support/service.js';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { useService } from '../support/use.js';

const CALLS = 30; // three times the pool
const WAITING = `
  SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ~ 'users|channels'`;

/** A user who calls again and again must not hold the connections of the pool, for which all others then wait. */
describe('connections that one user holds', () => {
  let mine: Tokens;
  let device: string;
  let other: Tokens;
  const { service } = useService({ SERVICE_KEYS: SERVICE_KEY });
  beforeEach(async () => {
    device = randomUUID();
    const user = randomUUID();
    mine = await signIn(service.url, user, { device_id: device });
    other = await signIn(service.url);
  });

  const as = ({ access_token }: Tokens) => bearer(service.url, access_token);
  const backend = () => bearer(service.url, SERVICE_KEY);
  const settle = (calls: Test[]): Promise<Response[]> => Promise.all(calls.map(async (call) => call));
  const waiting = async (): Promise<number> => (await query(service.databaseUrl, WAITING)).length;

  /** Runs work while a transaction of somebody else holds the rows that a statement locks. */
  async function whileLocked<Result>(lock: string, work: () => Promise<Result>): Promise<Result> {
    const client = new pg.Client(service.databaseUrl);
    await client.connect();
    try {
      await client.query('BEGIN');
      await client.query(lock);
      return await work();
    } finally {
      await client.query('ROLLBACK');
      await client.end();
    }
  }
  const userRows = () =>
    `SELECT FROM users WHERE user_id IN ('${mine.user_id}', '${other.user_id}') ORDER BY user_id FOR UPDATE`;

  type Call = () => Test;
  it.each<[string, number, () => Call]>([
    ['removal of an unknown device', 404, () => () => as(mine).delete(`/devices/${randomUUID()}`)],
    [
      'sign-out of an unknown session',
      404,
      () => () => backend().post(`/users/${mine.user_id}/sign-out`, { session_id: randomUUID() }),
    ],
    [
      'sign-out of a user without sessions',
      200,
      () => () => backend().post(`/users/${mine.user_id}/sign-out`, { device_id: device }),
    ],
  ])('%s: no lock is awaited', async (what, status, call) => {
    if (what.includes('without sessions')) await as(mine).post('/sign-out', { scope: 'all' }).expect(204);
    const answers = await whileLocked(userRows(), () => settle(Array.from({ length: CALLS }, call())));
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([status]));
  });

  it.each<[string, () => Call]>([
    ['sign-outs', () => () => as(mine).post('/sign-out', { scope: 'all' })],
    ['sign-outs of others', () => () => as(mine).post('/sign-out', { scope: 'others' })],
    ['removals of a device', () => () => as(mine).delete(`/devices/${device}`)],
    ['renames', () => () => as(mine).patch(`/devices/${device}`, { device_name: 'x' })],
    ['suspensions', () => () => backend().patch(`/users/${mine.user_id}`, { suspended: true })],
    ['removals of a user', () => () => backend().delete(`/users/${mine.user_id}`)],
    ['sign-outs by a service key', () => () => backend().post(`/users/${mine.user_id}/sign-out`)],
    ['changes of claims', () => () => backend().put(`/users/${mine.user_id}/claims`, { claims: { a: 1 } })],
    [
      'all of them',
      () => {
        const calls: Call[] = [
          () => as(mine).post('/sign-out', { scope: 'all' }),
          () => as(mine).post('/sign-out', { scope: 'others' }),
          () => as(mine).post('/sign-out'),
          () => as(mine).delete(`/devices/${device}`),
          () => as(mine).patch(`/devices/${device}`, { device_name: 'x' }),
          () => backend().post(`/users/${mine.user_id}/sign-out`),
        ];
        let at = 0;
        return () => calls[at++ % calls.length]!();
      },
    ],
  ])('%s of one user wait one at a time, and others are served', async (_what, call) => {
    await signIn(service.url, randomUUID(), { device_id: randomUUID() });
    await query(
      service.databaseUrl,
      `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at)
       SELECT $1, gen_random_uuid(), NULL, '\\x00', now() + interval '1 day' FROM generate_series(1, 3)`,
      [mine.user_id],
    );
    const calls: Promise<unknown>[] = [];
    await whileLocked(userRows(), async () => {
      calls.push(settle(Array.from({ length: CALLS }, call())));
      await until(async () => (await waiting()) > 0);
      for (let i = 0; i < 20; i++) {
        await as(other).get('/me').expect(200); // with the pool's ten connections held, it would be refused
        await delay(5);
        expect(await waiting()).toBe(1);
      }
      // The control: another user waits beside.
      calls.push(settle([as(other).post('/sign-out', { scope: 'all' })]));
      await until(async () => (await waiting()) === 2);
    });
    await Promise.all(calls);
  });

  it('pushes to one user wait one at a time', async () => {
    await backend().post('/push', { user_id: mine.user_id, event: 'x' }).expect(202);
    const push = () => backend().post('/push', { user_id: mine.user_id, event: 'x' });
    const lock = `SELECT FROM channels WHERE user_id = '${mine.user_id}' FOR UPDATE`;
    let calls: Promise<Response[]> | undefined;
    await whileLocked(lock, async () => {
      calls = settle([
        ...Array.from({ length: CALLS }, push),
        ...Array.from({ length: CALLS }, () => push().set('Idempotency-Key', randomUUID())),
      ]);
      await until(async () => (await waiting()) > 0);
      for (let i = 0; i < 20; i++) {
        await as(other).get('/me').expect(200);
        expect(await waiting()).toBe(1);
      }
    });
    for (const { status } of await calls!) expect([202, 500]).toContain(status); // those that waited for more than a second
  });

  it('equal sign-outs at one time end all sessions, also one that began during the first', async () => {
    const signOut = () => as(mine).post('/sign-out', { scope: 'others' });
    const late = await whileLocked(userRows(), async () => {
      await query(
        service.databaseUrl,
        `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at)
         VALUES ($1, gen_random_uuid(), '\\x00', now() + interval '1 day')`,
        [mine.user_id],
      );
      const first = settle([signOut()]);
      await until(async () => (await waiting()) === 1);
      const rest = settle(Array.from({ length: CALLS }, signOut));
      return [first, rest];
    });
    for (const answers of await Promise.all(late)) for (const { status } of answers) expect(status).toBe(204);
    const open = `SELECT FROM refresh_tokens WHERE user_id = $1 AND signed_out_at IS NULL`;
    expect(await query(service.databaseUrl, open, [mine.user_id])).toHaveLength(1);
  });
});
