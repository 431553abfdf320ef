import { Client } from 'pg';
import type { Response } from 'supertest';
import { query } from '../support/database.js';
import { bearer, signIn } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { prepare, useService } from '../support/use.js';

const DESK = 'd'.repeat(32);
const OTHER = 'o'.repeat(32);
const SESSIONS = 10_000;
const DEVICES = 2000;
/** Reads of one caller that run and that wait, and of all callers that run with a pool of ten (heavy-reads.ts). */
const [OF_ONE, MOST_WAITING, OF_ALL] = [2, 100, 3];

/** Reads that cost milliseconds of the database or of the process, each as often as one can ask. */
describe('costly reads of one service key', () => {
  const keys = `desk=support:${DESK},other=support:${OTHER}`;
  const { service } = useService({ SERVICE_KEYS: keys, RATE_LIMIT: 'off' });
  const large = prepare(() => signIn(service.url));
  beforeAll(async () => {
    for (const statement of [
      `INSERT INTO devices (user_id, device_id, device_name, user_agent)
       SELECT $1, gen_random_uuid(), 'Device ' || i, 'Mozilla/5.0 (X11; Linux x86_64) Chrome/' || i || '.0.0.0'
       FROM generate_series(1, ${DEVICES}) i`,
      `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at)
       SELECT user_id, gen_random_uuid(), device_id, '', now() + interval '1 day'
       FROM devices, generate_series(1, ${SESSIONS / DEVICES}) WHERE user_id = $1`,
      `INSERT INTO audit_events (user_id, at, id, event, result, actor_type, device_id, address, user_agent, reason)
       SELECT user_id, now() - random() * interval '9 days', gen_random_uuid(), 'sign_in', 'ok', 'user', device_id,
         '192.0.2.1', user_agent, repeat('x', 200)
       FROM devices, generate_series(1, 20) WHERE user_id = $1`,
    ])
      await query(service.databaseUrl, statement, [large.user_id]);
    await query(service.databaseUrl, 'VACUUM ANALYZE');
  });

  const pathOf = (path: string): string => path.replace(':user_id', large.user_id);
  const read = (path: string, key = DESK): Promise<Response> =>
    bearer(service.url, key)
      .get(pathOf(path))
      .then((response) => response);
  function expectAnswered(answers: readonly Response[]): void {
    for (const { status, body, headers } of answers.filter((one) => one.status !== 200)) {
      expect([status, (body as { error: string }).error]).toEqual([429, 'slow_down']);
      expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
    }
    expect(answers.some(({ status }) => status === 200)).toBe(true);
  }

  // Calls, a table that each of them reads, and a part of the statement.
  const CALLS: readonly [path: string, table: string, text: string][] = [
    ['/admin/trail?limit=1000', 'audit_events', 'SELECT at, id'],
    ['/audit?limit=1000', 'audit_events', 'SELECT at, id'],
    ['/audit/counts?by=event', 'audit_events', 'SELECT at, id'],
    ['/users?q=a', 'user_words', 'user_words'],
    ['/users/:user_id', 'devices', 'FROM devices'],
    ['/users/:user_id/devices', 'devices', 'FROM devices'],
    ['/users/:user_id/sessions', 'refresh_tokens', 'AS wanted (user_id)'],
  ];

  it.each(CALLS)('GET %s: two at a time, and three of two keys', async (path, table, text) => {
    const locked = new Client(service.databaseUrl);
    await locked.connect();
    const count = async (): Promise<number> => {
      const sql = `SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND strpos(query, $1) > 0`;
      return (await query(service.databaseUrl, sql, [text])).length;
    };
    /** One more than may run and wait: once it is refused, all others have arrived. */
    const readAll = async (key: string): Promise<Promise<Response>[]> => {
      const answers = Array.from({ length: OF_ONE + MOST_WAITING + 1 }, () => read(path, key));
      expect((await Promise.race(answers)).status).toBe(429);
      return answers;
    };
    try {
      await locked.query(`BEGIN; LOCK TABLE ${table}`);
      const own = await readAll(DESK);
      await until(async () => (await count()) >= OF_ONE);
      expect(await count()).toBe(OF_ONE);
      const others = await readAll(OTHER);
      await until(async () => (await count()) >= OF_ALL);
      expect(await count()).toBe(OF_ALL);
      await locked.query('ROLLBACK');
      expectAnswered(await Promise.all(own));
      expectAnswered(await Promise.all(others));
    } finally {
      await locked.end();
    }
  });

  it.each(CALLS.map(([path]) => path))(
    'GET %s, 60 at a time: each is answered or refused, and others sign in',
    async (path) => {
      const answers = Promise.all(Array.from({ length: 60 }, () => read(path)));
      await signIn(service.url);
      expectAnswered(await answers);
    },
  );
});
