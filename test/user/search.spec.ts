import { randomUUID } from 'node:crypto';
import { deriveUserId } from '../../src/identity/user-id.js';
import { searchKey } from '../../src/user/search-key.js';
import { MOST_READ } from '../../src/user/search.sql.js';
import { query } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { bearer } from '../support/sign-in.js';

const KNOWN = 'q, email, provider, provider_user_id, role, suspended, limit, cursor';
const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
const DAY_MS = 86_400_000;
const BEGIN = Date.UTC(2026, 0, 1);

interface Row {
  readonly id: string;
  readonly provider: string;
  readonly username: string | null;
  readonly email: string | null;
  readonly roles: readonly string[];
  readonly suspended: boolean;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

interface Page {
  readonly users: { readonly provider_user_id: string; readonly user_id: string }[];
  readonly next_cursor?: string;
}

const INSERT = `
  INSERT INTO users (user_id, provider, provider_user_id, username, email, username_key, email_key, claims, suspended_at, created_at)
  SELECT user_id, provider, id, username, email, username_key, email_key, claims::jsonb,
    CASE WHEN suspended THEN now() END, to_timestamp(at / 1000)
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bool[], $10::float8[])
    AS n (user_id, provider, id, username, email, username_key, email_key, claims, suspended, at)`;

/** `GET /users` (docs/endpoints.md#for-your-backend). */
describe('the search for users', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService({ SERVICE_KEYS: SERVICE_KEY });
  });
  afterAll(async () => {
    await service?.close();
  });
  beforeEach(async () => {
    await query(service.databaseUrl, 'TRUNCATE users', []);
  });

  async function insert(rows: readonly Row[]): Promise<void> {
    const keyOf = (text: string | null) => (text === null ? null : searchKey(text));
    const columns = [
      rows.map(({ provider, id }) => deriveUserId(provider, id)),
      rows.map(({ provider }) => provider),
      rows.map(({ id }) => id),
      rows.map(({ username }) => username),
      rows.map(({ email }) => email),
      rows.map(({ username }) => keyOf(username)),
      rows.map(({ email }) => keyOf(email)),
      rows.map(({ roles }) => (roles.length > 0 ? JSON.stringify({ roles }) : null)),
      rows.map(({ suspended }) => suspended),
      rows.map(({ at }) => at),
    ];
    await query(service.databaseUrl, INSERT, columns);
  }

  const row = (id: string, rest: Partial<Row> = {}): Row => ({
    id,
    provider: 'corp',
    username: null,
    email: null,
    roles: [],
    suspended: false,
    at: BEGIN,
    ...rest,
  });

  const ask = (parameters: Record<string, string>) =>
    bearer(service.url, SERVICE_KEY).get(`/users?${new URLSearchParams(parameters).toString()}`);
  async function page(parameters: Record<string, string>): Promise<Page> {
    return (await ask(parameters).expect(200)).body as Page;
  }
  /** All pages. */
  async function find(parameters: Record<string, string>): Promise<string[]> {
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const { users, next_cursor }: Page = await page({ ...parameters, ...(cursor && { cursor }) });
      expect(users.length).toBeLessThanOrEqual(Number(parameters['limit'] ?? 50));
      ids.push(...users.map(({ provider_user_id }) => provider_user_id));
      cursor = next_cursor;
    } while (cursor !== undefined);
    return ids;
  }

  it('finds names and addresses by their beginning, as people of many languages type them', async () => {
    const names = ['Ada Lovelace', 'İsmail Işık', 'Jürgen Strauß', '田中 花子', 'ﾀﾅｶ ﾊﾅｺ', 'Οδυσσεύς', 'Нина', '100%_sure', "O'Brien \\"];
    await insert(
      names.map((username, i) => row(username, { username, email: `x${i}@example.com`, at: BEGIN + i })),
    );
    const found: [q: string, name: string][] = [
      ['ADA', 'Ada Lovelace'],
      [' ada l ', 'Ada Lovelace'],
      ['ismail ışık', 'İsmail Işık'],
      ['İSMAİL', 'İsmail Işık'],
      ['JÜRGEN STRAUSS', 'Jürgen Strauß'],
      ['田中', '田中 花子'],
      ['タナカ', 'ﾀﾅｶ ﾊﾅｺ'],
      ['οδυσ', 'Οδυσσεύς'],
      ['НИ', 'Нина'],
      ['100%_', '100%_sure'],
      ["o'brien \\", "O'Brien \\"],
      ['X3@EXAMPLE.com', '田中 花子'],
    ];
    for (const [q, name] of found) expect([q, await find({ q })]).toEqual([q, [name]]);
    for (const q of ['Lovelace', 'a%', '_', '100%_sure!', 'x\u{10ffff}'] as const) {
      expect([q, await find({ q })]).toEqual([q, []]);
    }
    expect(await find({ q: 'x' })).toEqual(names.toReversed()); // newest first
    expect(await find({ q: '' })).toHaveLength(names.length);
  }); // prettier-ignore

  it('finds one user by the id, and by the provider’s id', async () => {
    const uuid = randomUUID();
    await insert([row('Ada', { username: uuid, email: 'ada@example.com' }), row('ada', { at: BEGIN + 1 })]);
    const [ada, other] = [deriveUserId('corp', 'Ada'), deriveUserId('corp', 'ada')];
    expect(await find({ q: ada.toUpperCase() })).toEqual(['Ada']);
    expect(await find({ q: other })).toEqual(['ada']);
    expect(await find({ q: uuid })).toEqual(['Ada']); // a name that looks like an id
    expect(await find({ provider: 'corp', provider_user_id: 'ada' })).toEqual(['ada']);
    expect(await find({ provider: 'corp', provider_user_id: 'ADA' })).toEqual([]);
    expect(await find({ q: ada, suspended: 'true' })).toEqual([]);
    const { users, next_cursor } = await page({ email: 'ADA@Example.com' });
    expect([users, next_cursor]).toEqual([
      [
        {
          user_id: ada,
          provider: 'corp',
          provider_user_id: 'Ada',
          username: uuid,
          email: 'ada@example.com',
          avatar_url: null,
          claims: {},
          suspended_at: null,
          created_at: new Date(BEGIN).toISOString(),
          last_seen_at: expect.any(String),
          online: false,
          live_sessions: 0,
        },
      ],
      undefined,
    ]);
  });

  // The crowded week has more users than an index reads of a week, and two of them were created at one moment.
  it('pages through all that match, once each and newest first, whatever their number', async () => {
    const crowd = MOST_READ + 300;
    const rows = Array.from({ length: crowd + 700 }, (_, i) => {
      const day = i < crowd ? 10 : i % 40;
      const name = ['Ann', 'ANNE', 'Bo', 'bob', 'Zoë'][i % 5]!;
      return row(`u${i}`, {
        username: i % 7 === 0 ? null : `${name} ${i}`,
        email: i % 3 === 0 ? null : `${i % 2 ? 'ann' : 'mail'}${i}@example.com`,
        roles: [...(i % 2 ? ['member'] : []), ...(i % 900 === 5 ? ['rare'] : []), ...(i < 40 ? ['old'] : [])],
        suspended: i % 11 === 0,
        provider: i % 501 === 3 ? 'github' : 'corp',
        at: BEGIN + day * DAY_MS + (i % 2 ? 0 : i * 7),
      });
    });
    await insert(rows);
    const sorted = rows
      .map((one) => ({ ...one, userId: deriveUserId(one.provider, one.id) }))
      .toSorted((a, b) => b.at - a.at || (a.userId < b.userId ? 1 : -1));
    const begins = (text: string | null, q: string) =>
      text !== null && searchKey(text).startsWith(searchKey(q));
    const searches: [Record<string, string>, (one: Row) => boolean][] = [
      [{ q: 'ann' }, (one) => begins(one.username, 'ann') || begins(one.email, 'ann')],
      [{ q: 'ANN 1' }, (one) => begins(one.username, 'ann 1')],
      [{ q: 'zoë', suspended: 'true' }, (one) => begins(one.username, 'zoë') && one.suspended],
      [{ role: 'member' }, ({ roles }) => roles.includes('member')],
      [{ role: 'rare' }, ({ roles }) => roles.includes('rare')],
      [{ role: 'old', suspended: 'false' }, (one) => one.roles.includes('old') && !one.suspended],
      [{ role: 'nobody' }, () => false],
      [{ provider: 'corp', suspended: 'true' }, (one) => one.provider === 'corp' && one.suspended],
      [{ provider: 'github', q: 'bo' }, (one) => one.provider === 'github' && begins(one.username, 'bo')],
      [{ suspended: 'true' }, ({ suspended }) => suspended],
    ];
    for (const [parameters, fits] of searches) {
      const wanted = sorted.filter(fits).map(({ id }) => id);
      expect([parameters, await find({ ...parameters, limit: '200' })]).toEqual([parameters, wanted]);
    }
    expect(await find({ q: 'ann 2', limit: '7' })).toHaveLength(rows.filter(({ username }) => begins(username, 'ann 2')).length); // prettier-ignore
  });

  it('reads a bounded number of users for a page, and finds those who are few by what they have in common', async () => {
    const crowd = Array.from({ length: 2 * MOST_READ + 500 }, (_, i) =>
      row(`u${i}`, {
        username: 'Ada',
        at: BEGIN + (i % 8) * 7 * DAY_MS + 1000 + i,
        suspended: true,
        roles: i % 2500 === 1 ? ['rare'] : [],
        provider: i % 2500 === 2 ? 'github' : 'corp',
      }),
    );
    await insert([row('free', { username: 'Ada' }), ...crowd]);
    const few = Math.ceil((crowd.length - 1) / 2500);
    for (const parameters of [
      { q: 'ada', role: 'rare' },
      { q: 'ada', provider: 'github' },
    ]) {
      const { users, next_cursor } = await page(parameters);
      expect([users.length, next_cursor]).toEqual([few, undefined]);
    }
    // Of these a page may have none, with a cursor to the next one.
    expect(await find({ suspended: 'false' })).toEqual(['free']);
    expect(await find({ q: 'ada', suspended: 'false' })).toEqual(['free']);
  });

  it('users who arrive between two pages move none of the others', async () => {
    const rows = Array.from({ length: 30 }, (_, i) => row(`u${i}`, { username: 'Ada', at: BEGIN + i }));
    await insert(rows);
    const first = await page({ q: 'ada', limit: '10' });
    await insert([
      row('new', { username: 'Ada', at: BEGIN + 100 }),
      row('old', { username: 'Ada', at: BEGIN - 1 }),
    ]);
    const second = await page({ q: 'ada', limit: '10', cursor: first.next_cursor! });
    const third = await page({ q: 'ada', limit: '11', cursor: second.next_cursor! });
    const ids = [first, second, third].flatMap(({ users }) => users.map((user) => user.provider_user_id));
    expect(ids).toEqual([...rows.map(({ id }) => id).toReversed(), 'old']);
    expect(third.next_cursor).toBeUndefined();
  });

  it.each<[Record<string, string>, string]>([
    [{ limit: '0' }, 'limit must be a whole number from 1 to 200'],
    [{ limit: '201' }, 'limit must be a whole number from 1 to 200'],
    [{ limit: '5x' }, 'limit must be a whole number from 1 to 200'],
    [{ suspended: '1' }, 'suspended must be true or false'],
    [{ cursor: 'x' }, 'cursor must be the next_cursor of an answer'],
    [{ q: 'x'.repeat(256) }, 'q must be text of at most 255 characters'],
    [{ q: '\0' }, 'q must be text of at most 255 characters'],
    [{ provider_user_id: 'ada' }, 'provider_user_id needs provider, and must not be empty'],
    [{ emial: 'ada@example.org' }, `a query parameter is unknown (did you mean email?): use ${KNOWN}`],
    [{ user_id: 'x', q: 'a' }, `a query parameter is unknown: use ${KNOWN}`],
    [{ provider: 'corp', provider_user_id: '' }, 'provider_user_id needs provider, and must not be empty'],
  ])('refuses %j', async (parameters, error_description) => {
    expect((await ask(parameters).expect(400)).body).toEqual({ error: 'invalid_request', error_description });
  });

  it('answers the longest cursor, and a parameter that comes twice', async () => {
    await insert([row('ada')]);
    const cursor = `${'9'.repeat(16)}-${randomUUID()}`;
    expect((await page({ cursor })).users).toHaveLength(1);
    await bearer(service.url, SERVICE_KEY).get('/users?q=a&q=b').expect(400);
  });
});
