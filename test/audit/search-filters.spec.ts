import { randomInt, randomUUID } from 'node:crypto';
import request from 'supertest';
import { DataSource } from 'typeorm';
import type { AuditEvent } from '../../src/audit/audit-event.js';
import { AuditSearch } from '../../src/audit/search/audit-search.js';
import { AuditWalks } from '../../src/audit/search/audit-walks.js';
import { CitusAuditWalks } from '../../src/citus/stores.js';
import type { AuditFilters } from '../../src/audit/search/audit.dto.js';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { query } from '../support/database.js';
import { needs } from '../support/installed.js';
import { startTestService } from '../support/service.js';
import { until } from '../support/waiting.js';
import { use } from '../support/use.js';

const KEY = 'r'.repeat(32);
const EVENTS = 30_000;
const isOnCitus = process.env['CITUS_URL'] !== undefined;
const alone = needs({ 'one PostgreSQL': !isOnCitus });
/** Events that one page reads at most, in the order of time, and of a filter with an index. */
const WALK = 20_000;
const WALK_OF_FILTER = WALK / 4 / (isOnCitus ? 20 : 1);
/** Events that have the same time: the order of their ids decides. */
const TIES = 7;
const BEGIN = Date.parse('2026-01-01T00:00:00Z');

const [ADA, BOB, DEVICE, SESSION] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()] as const;
const HEAVY = '203.0.113.7';

type Row = Partial<AuditFilters> & { readonly at: string; readonly id: string };

/** Most events have the heavy address; the other values are on every n-th, and meet it only sometimes. */
const ROWS: readonly Row[] = Array.from({ length: EVENTS }, (_, n) => ({
  at: new Date(BEGIN + Math.floor(n / TIES) * 1000).toISOString(),
  id: randomUUID(),
  user_id: n % 10 === 0 ? ADA : BOB,
  event: n % 4 === 0 ? 'sign_in_refused' : 'sign_in',
  result: n % 4 === 0 ? 'refused' : 'ok',
  ...(n % 4 === 0 && { error: n % 1000 === 0 ? 'rare' : 'invalid_grant' }),
  provider: n % 3 === 0 ? 'corp' : 'mock',
  address: n % 20 === 3 ? '2001:db8::5' : n % 1000 === 0 ? '192.0.2.0/24' : HEAVY,
  request_id: randomUUID(),
  ...(n % 50 === 1 && { session_id: SESSION }),
  device_id: n % 5 === 0 ? DEVICE : randomUUID(),
  ...(n % 300 === 6 && { new_device: 'true' }),
  ...(n % 100 === 7 && { new_network: 'true' }),
}));
const ONE = ROWS[randomInt(EVENTS)]!;

const SEED = `
  INSERT INTO audit_events (user_id, at, id, event, result, error, provider, address, request_id, session_id, device_id,
    new_device, new_network, actor_type)
  SELECT user_id, at, id, event, result, error, provider, address, request_id, session_id, device_id, new_device,
    new_network, 'user'
  FROM json_populate_recordset(NULL::audit_events, $1)`;

function expected({ since, until: end, ...filters }: Partial<AuditFilters>): string[] {
  const isMatch = (row: Row): boolean =>
    Object.entries(filters).every(([name, value]) => row[name as keyof Row] === value) &&
    (since === undefined || row.at >= since) &&
    (end === undefined || row.at < end);
  const place = ({ at, id }: Row): string => at + id;
  const found = ROWS.filter(isMatch).toSorted((one, other) => (place(one) < place(other) ? 1 : -1));
  return found.map(({ id }) => id);
}

describe('a filter of GET /audit', () => {
  const service = use(() => startTestService({ SERVICE_KEYS: `read:${KEY}`, AUDIT_RETENTION_DAYS: '3650' }));
  beforeAll(async () => {
    await query(service.databaseUrl, 'TRUNCATE audit_events');
    await query(service.databaseUrl, SEED, [JSON.stringify(ROWS)]);
  });

  /** Ids of all events, page by page, and the number of pages. */
  async function all(parameters: object): Promise<{ ids: string[]; pages: number }> {
    const ids: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined = ''; cursor !== undefined; pages++) {
      const { body } = await request(service.url)
        .get('/audit')
        .query({ ...parameters, ...(cursor && { cursor }) })
        .set('Authorization', `Bearer ${KEY}`)
        .expect(200);
      ids.push(...(body.events as AuditEvent[]).map(({ id }) => id));
      cursor = body.next_cursor as string | undefined;
    }
    return { ids, pages };
  }

  const DAY = { since: '2026-01-01T00:10:00.000Z', until: '2026-01-01T00:40:00.000Z' };

  it.each<[name: string, parameters: Partial<AuditFilters>, limit?: number]>([
    ['address', { address: HEAVY }, 1000],
    ['address of few', { address: '2001:db8::5' }, 999],
    ['network', { address: '192.0.2.0/24' }, 4],
    ['error', { error: 'invalid_grant' }, 1000],
    ['rare error', { error: 'rare' }, 4],
    ['request', { request_id: ONE.request_id! }],
    ['session', { session_id: SESSION }, 11],
    ['device', { device_id: DEVICE }, 1000],
    ['new device', { new_device: 'true' }, 13],
    ['new network', { new_network: 'true' }, 13],
    ['user', { user_id: ADA }, 997],
    ['address in a time', { address: HEAVY, ...DAY }, 1000],
    ['error in a time', { error: 'invalid_grant', ...DAY }, 500],
    ['address and an event', { address: HEAVY, event: 'sign_in_refused' }, 1000],
    ['address and a rare error', { address: '192.0.2.0/24', error: 'rare', provider: 'corp' }, 3],
    ['user and a device', { user_id: ADA, device_id: DEVICE, ...DAY }, 100],
    ['user and a new network', { user_id: BOB, new_network: 'true' }],
    ['new network that is a new device', { new_network: 'true', new_device: 'true' }],
    ['request of another event', { request_id: ONE.request_id!, event: 'sign_out' }],
    ['session, user and result', { session_id: SESSION, user_id: BOB, result: 'ok' }, 7],
    ['session and a provider', { session_id: SESSION, provider: 'mock' }, 7],
    ['device that there is not', { device_id: randomUUID() }],
  ])('by %s finds its events in order, over all pages', async (_name, parameters, limit = 50) => {
    expect((await all({ ...parameters, limit })).ids).toEqual(expected(parameters));
  });

  it.each([
    ['::ffff:203.0.113.7', HEAVY],
    ['2001:DB8:0:0::0005', '2001:db8::5'],
    ['192.0.2.9/24', '192.0.2.0/24'],
  ])('by address finds %s as %s', async (address, stored) => {
    expect((await all({ address, ...DAY, limit: 1000 })).ids).toEqual(expected({ address: stored, ...DAY }));
  });

  it('reads a bounded number of events of a frequent value for a page, and the cursor continues', async () => {
    const { ids, pages } = await all({ address: HEAVY, error: 'none' });
    expect(ids).toEqual([]);
    const count = expected({ address: HEAVY }).length;
    expect(pages).toBeGreaterThanOrEqual(Math.ceil(count / WALK_OF_FILTER));
    expect(pages).toBeLessThanOrEqual(Math.ceil(count / (WALK_OF_FILTER - TIES))); // they are read again
  });

  it('that takes too long reads fewer events', async () => {
    const url = new URL(service.databaseUrl);
    for (const name of ['statement_timeout', 'query_timeout']) url.searchParams.delete(name);
    const options = dataSourceOptions(url.href, 1);
    const extra = { ...options.extra, statement_timeout: 2000, query_timeout: 30_000 };
    const dataSource = await new DataSource({ ...options, extra }).initialize();
    try {
      const [row] = await new (isOnCitus ? CitusAuditWalks : AuditWalks)(dataSource).read<{ bound: number }>(
        { address: HEAVY },
        undefined,
        WALK,
        ({ events, matches }, most) => `
          SELECT ${most} AS bound, pg_sleep(CASE ${most} WHEN ${WALK_OF_FILTER} THEN 60 ELSE 0 END), ${matches}
          FROM (${events} LIMIT 1) AS walked`,
      );
      expect(row).toMatchObject({ bound: WALK_OF_FILTER / 10 });
    } finally {
      await dataSource.destroy();
    }
  });

  // On Citus, a page is made of the walks of all nodes: test/database/citus.spec.ts.
  alone.describe.each(['without statistics', 'with statistics'])('%s', (kind) => {
    beforeAll(async () => {
      if (kind === 'with statistics') await query(service.databaseUrl, 'ANALYZE audit_events');
    });
    const dataSource = use(
      () => new DataSource(dataSourceOptions(service.databaseUrl, 1)).initialize(),
      (one) => one.destroy(),
    );

    it.each<AuditFilters>([
      {},
      { event: 'sign_in' },
      { address: HEAVY },
      { user_id: BOB },
      { new_network: 'true' },
    ])('a page ends when it is full: %j', async (parameters) => {
      const lines: string[] = [];
      const explaining = new (class extends AuditWalks {
        override async read<Found>(
          ...[filters, after, most, select]: Parameters<AuditWalks['read']>
        ): Promise<Found[]> {
          const plan = await super.read<{ 'QUERY PLAN': string }>(
            filters,
            after,
            most,
            (walk, size) => `EXPLAIN ${select(walk, size)}`,
          );
          lines.push(...plan.map((line) => line['QUERY PLAN']));
          return [];
        }
      })(dataSource);
      await new AuditSearch(explaining, { formerIds: async () => [] }).find(parameters);
      expect(lines.join('\n')).toContain('WindowAgg');
      expect(lines.join('\n')).not.toMatch(/(?<!Incremental )Sort {2}/); // it would read all first
    });

    it.each<[index: string, filters: AuditFilters]>([
      ['audit_events_at', {}],
      ['audit_events_at', { event: 'sign_in', provider: 'corp' }],
      ['audit_events_refused', { event: 'sign_in_refused' }],
      ['audit_events_pkey', { user_id: BOB, result: 'refused' }],
      ['audit_events_address', { address: HEAVY }],
      ['audit_events_address', { address: HEAVY, event: 'sign_in_refused', error: 'rare' }],
      ['audit_events_address', { address: HEAVY, since: '2026-01-01T01:00:00Z' }],
      ['audit_events_address', { address: HEAVY, until: '2026-01-01T00:00:01Z' }],
      ['audit_events_request', { request_id: ONE.request_id!, user_id: ADA }],
      ['audit_events_session', { session_id: SESSION, address: HEAVY }],
      ['audit_events_device', { device_id: DEVICE, user_id: BOB }],
      ['audit_events_error', { error: 'rare', event: 'sign_in_refused' }],
      ['audit_events_error', { error: 'invalid_grant', ...DAY, new_device: 'true' }],
      ['audit_events_new_device', { new_device: 'true' }],
      ['audit_events_new_network', { new_network: 'true', new_device: 'true', ...DAY }],
    ])('the walk goes through %s: %j', async (index, filters) => {
      const plan = await new AuditWalks(dataSource).read<{ 'QUERY PLAN': string }>(
        filters,
        undefined,
        WALK,
        ({ events, matches }, most) =>
          `EXPLAIN SELECT *, ${matches} FROM (${events} LIMIT ${most}) AS walked`,
      );
      const lines = plan.map((line) => line['QUERY PLAN']).join('\n');
      expect(lines).toContain(`Index Scan Backward using ${index} on audit_events`);
      expect(lines).toContain('Index Cond');
      expect(lines).not.toMatch(/Filter|(?<!Incremental )Sort {2}/); // it reads what it returns, in order
    });
  });

  it('by address finds what AUDIT_ADDRESSES=network has stored', async () => {
    const other = await startTestService({ SERVICE_KEYS: `read:${KEY}`, AUDIT_ADDRESSES: 'network' });
    try {
      const { headers } = await request(other.url).get('/oauth2/authorize').query({ provider: 'nowhere' });
      for (const address of ['127.0.0.1', '127.0.0.0/24', '::ffff:127.0.0.200']) {
        await until(async () => {
          const { body } = await request(other.url)
            .get('/audit')
            .query({ address })
            .set('Authorization', `Bearer ${KEY}`)
            .expect(200);
          return (body.events as AuditEvent[]).some((one) => one.request_id === headers['x-request-id']);
        }, `the refusal is found by ${address}`);
      }
    } finally {
      await other.close();
    }
  });
});
