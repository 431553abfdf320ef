import { randomUUID } from 'node:crypto';
import request from 'supertest';
import type { AuditCounts } from '../../src/audit/search/audit.dto.js';
import { query } from '../support/database.js';
import { needs } from '../support/installed.js';
import { startTestService } from '../support/service.js';
import { use } from '../support/use.js';

const KEYS = { read: 'r'.repeat(32), support: 's'.repeat(32), users: 'u'.repeat(32) };
const isOnCitus = process.env['CITUS_URL'] !== undefined;
/** Events that one call reads at most. */
const WALK = isOnCitus ? 5000 : 100_000;
const alone = needs({ 'one PostgreSQL': !isOnCitus }).it;
const [ADA, BOB] = [randomUUID(), randomUUID()];
const NOBODY = '00000000-0000-0000-0000-000000000000';

/** Events of a day: [time, user, event, error, provider, id at the provider, address]. */
const DAY = [
  ['09:00:00', ADA, 'sign_in', null, 'corp', 'ada', '192.0.2.1'],
  ['09:10:00', ADA, 'sign_in_refused', 'access_denied', 'corp', 'ada', '192.0.2.1'],
  ['09:20:00', ADA, 'sign_in_refused', 'access_denied', 'corp', 'ada', '192.0.2.2'],
  ['09:59:59.999999', BOB, 'sign_in_refused', 'access_denied', 'corp', 'bob', '192.0.2.1'],
  ['10:00:00', null, 'sign_in_refused', 'access_denied', 'mock', 'eve', '192.0.2.3'],
  ['10:00:01', null, 'sign_in_refused', 'access_denied', 'mock', 'eve', '192.0.2.4'],
  ['10:00:02', null, 'sign_in_refused', 'cancelled', 'mock', null, '192.0.2.5'],
  ['10:00:03', null, 'sign_in_refused', 'cancelled', 'mock', null, '192.0.2.5'],
  ['12:00:00', null, 'sign_in_refused', 'server_error', null, null, null],
  ['12:00:01', null, 'sign_in_refused', null, null, null, null],
] as const;

const INSERT = `
  INSERT INTO audit_events (at, id, user_id, event, result, error, provider, provider_user_id, address, actor_type)
  SELECT ('2026-01-02T' || time || 'Z')::timestamptz, gen_random_uuid(), coalesce(user_id, '${NOBODY}'), event,
    CASE WHEN event = 'sign_in' THEN 'ok' ELSE 'refused' END, error, provider, provider_user_id, address, 'user'
  FROM json_to_recordset($1) AS e (time text, user_id uuid, event text, error text, provider text,
    provider_user_id text, address text)`;

describe('GET /audit/counts', () => {
  const keys = Object.entries(KEYS).map(([right, key]) => `${right}:${key}`);
  const service = use(() => startTestService({ SERVICE_KEYS: keys.join(), AUDIT_RETENTION_DAYS: '3650' }));
  beforeAll(async () => {
    await query(service.databaseUrl, 'TRUNCATE audit_events');
    const names = ['time', 'user_id', 'event', 'error', 'provider', 'provider_user_id', 'address'];
    const rows = DAY.map((values) => Object.fromEntries(values.map((value, i) => [names[i], value])));
    await query(service.databaseUrl, INSERT, [JSON.stringify(rows)]);
  });

  const get = (parameters: object, key = KEYS.support): request.Test =>
    request(service.url).get('/audit/counts').query(parameters).set('Authorization', `Bearer ${key}`);
  async function count(parameters: object): Promise<AuditCounts> {
    return (await get(parameters).expect(200)).body as AuditCounts;
  }
  /** Counts of the day: key, attempts, people. */
  async function counted(parameters: object): Promise<unknown[][]> {
    const { counts } = await count({ until: '2026-01-03T00:00:00Z', ...parameters });
    return counts.map(({ key, attempts, people }) => [key, attempts, people]);
  }

  it.each<[name: string, parameters: object, counts: unknown[][]]>([
    [
      'error',
      { by: 'error' },
      [
        ['access_denied', 5, 3],
        ['cancelled', 2, 1],
        ['server_error', 1, 0],
      ],
    ],
    [
      'event',
      { by: 'event' },
      [
        ['sign_in_refused', 9, 4],
        ['sign_in', 1, 1],
      ],
    ],
    [
      'provider',
      { by: 'provider' },
      [
        ['corp', 4, 2],
        ['mock', 4, 2],
      ],
    ],
    [
      'hour',
      { by: 'hour' },
      [
        ['2026-01-02T09:00:00.000Z', 4, 2],
        ['2026-01-02T10:00:00.000Z', 4, 2],
        ['2026-01-02T12:00:00.000Z', 2, 0],
      ],
    ],
    [
      'hour of refused sign-ins of a user',
      { by: 'hour', event: 'sign_in_refused', user_id: ADA },
      [['2026-01-02T09:00:00.000Z', 2, 1]],
    ],
    [
      'error in a time',
      { by: 'error', since: '2026-01-02T09:20:00Z', until: '2026-01-02T10:00:01Z' },
      [['access_denied', 3, 3]],
    ],
    ['error of an address', { by: 'error', address: '192.0.2.1' }, [['access_denied', 2, 2]]],
    ['error of what has no error', { by: 'error', event: 'sign_in' }, []],
    ['event of an error', { by: 'event', error: 'cancelled' }, [['sign_in_refused', 2, 1]]],
    ['event that there is not', { by: 'event', session_id: randomUUID() }, []],
  ])('counts attempts and people by %s', async (_name, parameters, counts) => {
    expect(await counted(parameters)).toEqual(counts);
  });

  it('says from when on it counted: the time that was asked for, or that of the oldest event', async () => {
    const until = '2026-01-03T00:00:00.000Z';
    const since = '2026-01-01T00:00:00.000Z';
    expect(await count({ by: 'error', since, until })).toMatchObject({ since, until });
    expect(await count({ by: 'event', until })).toMatchObject({ since: '2026-01-02T09:00:00.000Z', until });
    const before = new Date().toISOString();
    const none = await count({ by: 'event', request_id: randomUUID() });
    expect(none).toEqual({ counts: [], since: none.until, until: expect.any(String) });
    expect(Date.parse(none.until)).toBeGreaterThanOrEqual(Date.parse(before) - 60_000);
  });

  it('by hour counts 31 days at most', async () => {
    const answer = await count({ by: 'hour', since: '2025-01-01T00:00:00Z', until: '2026-01-03T09:30:00Z' });
    expect(answer).toMatchObject({ since: '2025-12-03T09:30:00.000Z', until: '2026-01-03T09:30:00.000Z' });
    expect(answer.counts).toHaveLength(3);
    const later = await count({ by: 'hour', until: '2026-02-02T09:30:00Z' });
    expect(later.counts.map(({ attempts }) => attempts)).toEqual([1, 4, 2]);
  });

  alone('distinguishes the 100 most frequent errors', async () => {
    await query(
      service.databaseUrl,
      `INSERT INTO audit_events (at, id, user_id, event, result, error, address, actor_type)
       SELECT '2026-01-05T00:00:00Z', gen_random_uuid(), '${NOBODY}', 'sign_in_refused', 'refused', 'code_' || code,
         CASE WHEN code > 100 THEN '192.0.2.' || code % 3 END, 'user'
       FROM generate_series(1, 130) AS code, generate_series(code, 130)`,
    );
    const counts = await counted({
      by: 'error',
      since: '2026-01-05T00:00:00Z',
      until: '2026-01-06T00:00:00Z',
    });
    expect(counts).toHaveLength(101);
    expect(counts.slice(0, 1)).toEqual([['other', (30 * 31) / 2, 3]]);
    expect(counts.slice(1, 3)).toEqual([
      ['code_1', 130, 0],
      ['code_2', 129, 0],
    ]);
  });

  it('reads the newest events, of a bounded number, and says how far back', async () => {
    await query(
      service.databaseUrl,
      `INSERT INTO audit_events (at, id, user_id, event, result, error, actor_type)
       SELECT timestamptz '2026-02-01T00:00:00Z' + n * interval '1 second', gen_random_uuid(), gen_random_uuid(),
         'sign_in', 'ok', NULL, 'user'
       FROM generate_series(1, ${WALK + 10}) AS n`,
    );
    const since = '2026-02-01T00:00:00.000Z';
    const answer = await count({ by: 'event', since });
    expect(answer.counts).toEqual([{ key: 'sign_in', attempts: WALK, people: WALK }]);
    expect(answer.since).toBe('2026-02-01T00:00:11.000Z');
    const none = await count({ by: 'event', since, provider: 'corp' });
    expect(none).toMatchObject({ counts: [], since: '2026-02-01T00:00:11.000Z' });
  });

  it('needs the right `support`', async () => {
    await get({ by: 'event' }, KEYS.users).expect(200);
    await get({ by: 'event' }, KEYS.read).expect(403);
    await request(service.url).get('/audit/counts').query({ by: 'event' }).expect(401);
  });

  it.each([
    ['', 'by is required'],
    ['by=user_id', 'by must be one of error, event, provider, hour'],
    ['by=error&by=event', 'by must be given once'],
    ['by=error&limit=5', 'a query parameter is unknown: use '],
    ['by=error&cursor=5', 'a query parameter is unknown: use '],
    ['by=error&sinse=5', 'a query parameter is unknown (did you mean since?): use '],
    ['by=error&address=x', 'address must be an IP address'],
  ])('refuses ?%s', async (text, description) => {
    const { body } = await request(service.url)
      .get(`/audit/counts?${text}`)
      .set('Authorization', `Bearer ${KEYS.support}`)
      .expect(400);
    expect(body).toEqual({
      error: 'invalid_request',
      error_description: expect.stringContaining(description),
    });
  });
});
