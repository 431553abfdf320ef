import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import request from 'supertest';
import type { AuditEvent } from '../../src/audit/audit-event.js';
import { query, unhurried } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { until } from '../support/waiting.js';
import { use } from '../support/use.js';

const KEYS = { read: 'r'.repeat(32), support: 's'.repeat(32), push: 'p'.repeat(32), users: 'u'.repeat(32) };
const ADA = randomUUID();
const EVENTS = 100_000;
/** Events that one page reads at most. */
const WALK = process.env['CITUS_URL'] === undefined ? 20_000 : 1000;

/** Sign-ins of many users, one each second; each tenth is a refusal of no user, some are of Ada. */
const SEED = `
  INSERT INTO audit_events (user_id, at, id, event, result, error, provider, actor_type, request_id)
  SELECT CASE WHEN n % 10 = 0 THEN '00000000-0000-0000-0000-000000000000' WHEN n % 5000 = 1 THEN $1::uuid ELSE gen_random_uuid() END,
    timestamptz '2026-01-01T00:00:00Z' + n * interval '1 second', gen_random_uuid(),
    CASE WHEN n % 10 = 0 THEN 'sign_in_refused' ELSE 'sign_in' END, CASE WHEN n % 10 = 0 THEN 'refused' ELSE 'ok' END,
    CASE WHEN n % 10 = 0 THEN 'invalid_grant' END, CASE WHEN n = 7 THEN 'rare' ELSE 'corp' END, 'user', lpad(n::text, 32, '0')::uuid
  FROM generate_series(1, ${EVENTS}) AS n`;

interface Page {
  readonly events: readonly AuditEvent[];
  readonly next_cursor?: string;
}

describe('GET /audit', () => {
  const service = use(() => {
    const keys = Object.entries(KEYS).map(([right, key]) => `${right}:${key}`);
    return startTestService({ SERVICE_KEYS: keys.join(), AUDIT_RETENTION_DAYS: '3650' });
  });
  beforeAll(async () => {
    await query(service.databaseUrl, 'TRUNCATE audit_events');
    await query(service.databaseUrl, SEED, [ADA]);
  });

  const get = (parameters: object, key = KEYS.read): request.Test =>
    request(service.url).get('/audit').query(parameters).set('Authorization', `Bearer ${key}`);
  async function page(parameters: object): Promise<Page> {
    return (await get(parameters).expect(200)).body as Page;
  }
  /** All events, page by page, by their number; and the number of pages. */
  async function all(parameters: object): Promise<{ numbers: number[]; pages: number }> {
    const numbers: number[] = [];
    let pages = 0;
    for (let cursor: string | undefined = ''; cursor !== undefined; pages++) {
      const { events, next_cursor } = await page({ ...parameters, ...(cursor && { cursor }) });
      numbers.push(...events.map(numberOf));
      cursor = next_cursor;
    }
    return { numbers, pages };
  }
  const numberOf = ({ request_id }: AuditEvent): number => Number(request_id!.replaceAll('-', ''));
  const downFrom = (last: number, step: number, count: number): number[] =>
    Array.from({ length: count }, (_, i) => last - i * step);

  it('has the newest events first, with all members that they have', async () => {
    const { events, next_cursor } = await page({});
    expect(events).toHaveLength(50);
    expect(events.map(numberOf)).toEqual(downFrom(EVENTS, 1, 50));
    expect(events[0]).toEqual({
      id: expect.any(String),
      at: '2026-01-02T03:46:40.000Z',
      event: 'sign_in_refused',
      result: 'refused',
      error: 'invalid_grant',
      provider: 'corp',
      actor: { type: 'user' },
      request_id: '00000000-0000-0000-0000-000000100000',
    });
    expect(events[1]).toMatchObject({ result: 'ok', user_id: expect.any(String) });
    expect(events[1]!.actor).toEqual({ type: 'user', name: events[1]!.user_id });
    const more = await page({ cursor: next_cursor, limit: 1000 });
    expect(more.events.map(numberOf)).toEqual(downFrom(EVENTS - 50, 1, 1000));
  });

  it.each<[name: string, parameters: object, numbers: number[]]>([
    ['a user', { user_id: ADA, limit: 7 }, downFrom(95_001, 5000, 20)],
    ['a user and an event that there is not', { user_id: ADA, event: 'sign_out' }, []],
    ['an unknown user', { user_id: randomUUID() }, []],
    ['refusals', { result: 'refused', limit: 1000 }, downFrom(EVENTS, 10, 10_000)],
    [
      'an event in a time',
      {
        event: 'sign_in_refused',
        since: '2026-01-01T00:00:30Z',
        until: '2026-01-01T01:02:00+01:00',
      },
      downFrom(110, 10, 9),
    ],
    [
      'a time of a user',
      { user_id: ADA, since: '2026-01-01T01:23:21Z', until: '2026-01-01T05:33:21Z' },
      [15_001, 10_001, 5001],
    ],
    ['a provider that is rare', { provider: 'rare' }, [7]],
    ['another result', { event: 'sign_in_refused', result: 'ok' }, []],
  ])('finds the events of %s', async (_name, parameters, numbers) => {
    expect((await all(parameters)).numbers).toEqual(numbers);
  });

  it('a page reads a bounded number of events, whether they match or not, and the cursor continues', async () => {
    const { pages } = await all({ provider: 'rare' });
    expect(pages).toBe(EVENTS / WALK + 1); // the last walk ends at the oldest event
    const first = await page({ provider: 'rare' });
    expect(first.events).toEqual([]);
    expect(first.next_cursor).toMatch(/^\d+-[0-9a-f-]{36}$/);
  });

  // Its statement has a time of one second (data-source.ts), also if statistics are missing.
  it('takes milliseconds, whatever matches', async () => {
    await query(service.databaseUrl, 'VACUUM audit_events');
    for (const parameters of [
      { provider: 'none' },
      { user_id: ADA },
      { result: 'refused', event: 'sign_in' },
    ]) {
      const began = performance.now();
      await page(parameters);
      expect(performance.now() - began).toBeLessThan(2000);
    }
  });

  it('many at once leave connections to other requests', async () => {
    const keys = `${KEYS.read},${KEYS.support}`;
    const small = await startTestService({
      SERVICE_KEYS: keys,
      DATABASE_URL: unhurried(service.databaseUrl),
      DATABASE_POOL_SIZE: '4',
    });
    const holder = new Client(service.databaseUrl);
    await holder.connect();
    try {
      await holder.query('BEGIN; LOCK TABLE audit_events');
      const ask = async (path: string, key = KEYS.support): Promise<number> =>
        (await request(small.url).get(path).set('Authorization', `Bearer ${key}`)).status;
      const paths = ['/audit?provider=nobody', '/audit/counts?by=hour'];
      const waiting = Array.from({ length: 10 }, (_, i) => ask(paths[i % 2]!));
      await until(() => isAwaited(), 'a search waits for the lock');
      expect(await ask(`/users/${ADA}/claims`, KEYS.read)).toBe(404);
      await holder.query('ROLLBACK');
      // A read that has waited for two seconds is refused.
      expect([200, 429]).toEqual(expect.arrayContaining(await Promise.all(waiting)));
    } finally {
      await holder.end();
      await small.close();
    }
  });
  async function isAwaited(): Promise<boolean> {
    const sql = `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'audit_events'::regclass`;
    return (await query(service.databaseUrl, sql)).length > 0;
  }

  it('needs the right `read` or `support`', async () => {
    await get({}, KEYS.support).expect(200);
    await get({}, KEYS.users).expect(200);
    await get({}, KEYS.push).expect(403);
    await request(service.url).get('/audit').expect(401);
  });

  it.each([
    ['user_id', 'x'],
    ['event', 'sign'],
    ['result', 'bad'],
    ['since', '2026-01-01'],
    ['until', '2026-13-01T00:00:00Z'],
    ['until', '2026-02-31T00:00:00Z'],
    ['since', '2026-04-31T10:00:00.5+02:00'],
    ['since', '2026-01-01T00:00:00.1234567890Z'],
    ['limit', '1001'],
    ['limit', '0'],
    ['limit', ''],
    ['cursor', 'x'],
    ['provider', 'p'.repeat(64)],
    ['error', 'e'.repeat(65)],
    ['address', '192.0.2.0/16'],
    ['address', '2001:db8::/24'],
    ['address', 'localhost'],
    ['request_id', 'x'],
    ['session_id', 'x'],
    ['device_id', 'x'],
    ['new_device', 'yes'],
    ['new_network', 'false'],
  ])('refuses %s=%s', async (name, value) => {
    const { body } = await get({ [name]: value }).expect(400);
    expect(body).toMatchObject({
      error: 'invalid_request',
      error_description: expect.stringContaining(name),
    });
  });

  it.each([
    ['ip=x', ''],
    ['userId=x', ' (did you mean user_id?)'],
    ['USER_ID=x', ' (did you mean user_id?)'],
    ['event=sign_in&sinse=2026-01-01T00:00:00Z', ' (did you mean since?)'],
    ['events=sign_in', ' (did you mean event?)'],
    ['adress=192.0.2.1', ' (did you mean address?)'],
    ['__proto__=x', ''],
    ['user_id[]=x', ''],
    ['new', ''],
  ])('refuses an unknown parameter, and does not repeat it: ?%s', async (text, suggestion) => {
    const { body } = await request(service.url)
      .get(`/audit?${text}`)
      .set('Authorization', `Bearer ${KEYS.read}`)
      .expect(400);
    const known =
      'limit, cursor, user_id, event, provider, provider_user_id, result, error, address, request_id, ' +
      'session_id, device_id, new_device, new_network, since, until';
    expect(body).toEqual({
      error: 'invalid_request',
      error_description: `a query parameter is unknown${suggestion}: use ${known}`,
    });
  });

  it.each(['since', 'until'])('of %s with a raw + the message names the cure', async (name) => {
    const ask = (time: string): request.Test =>
      request(service.url).get(`/audit?${name}=${time}`).set('Authorization', `Bearer ${KEYS.read}`);
    const { body } = await ask('2026-01-01T01:00:00+01:00').expect(400);
    expect(body).toEqual({
      error: 'invalid_request',
      error_description: `${name} must be a time as in RFC 3339 (in a query, write + as %2B, or use Z)`,
    });
    await ask('2026-01-01T01:00:00%2B01:00').expect(200);
  });

  it('an event that was just recorded is found', async () => {
    const { headers } = await request(service.url)
      .get('/oauth2/authorize')
      .query({ provider: 'nowhere' })
      .expect(400);
    const id = headers['x-request-id'];
    await until(async () => (await page({ limit: 1 })).events[0]?.request_id === id, 'the refusal is found');
  });

  it('has no column of a later version, also while that migrates', async () => {
    await page({});
    await query(service.databaseUrl, `ALTER TABLE audit_events ADD COLUMN later text DEFAULT 'x'`);
    expect((await page({})).events[0]).not.toHaveProperty('later');
  });
});
