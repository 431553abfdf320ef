import { randomUUID } from 'node:crypto';
import { deriveUserId } from '../../src/identity/user-id.js';
import { addressKey } from '../../src/platform/config/urls/email-address.js';
import { searchedWords, wordKeys } from '../../src/user/search/user-words.js';
import { formatSearchCursor } from '../../src/user/search/search-cursor.js';
import { query } from '../support/database.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { bearer } from '../support/sign-in.js';
import { use } from '../support/use.js';

const KNOWN = 'q, email, provider, provider_user_id, role, suspended, directory, limit, cursor';
const DAY_MS = 86_400_000;
const BEGIN = Date.UTC(2026, 0, 1);
const ID = '0f0e0d0c-0b0a-4908-8706-050403020100';
const ID_CURSOR = formatSearchCursor({ by: 'created', key: '1', id: ID });

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
  INSERT INTO users (user_id, provider, provider_user_id, username, email, email_key, claims, suspended_at, created_at)
  SELECT user_id, provider, id, username, email, email_key, claims::jsonb,
    CASE WHEN suspended THEN now() END, to_timestamp(at / 1000)
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bool[], $9::float8[])
    AS n (user_id, provider, id, username, email, email_key, claims, suspended, at)`;
const INSERT_WORDS = 'INSERT INTO user_words (user_id, word) SELECT * FROM unnest($1::uuid[], $2::text[])';

/** `GET /users` (docs/endpoints.md#for-your-backend). */
describe('the search for users', () => {
  const service = use(() => startTestService({ SERVICE_KEYS: SERVICE_KEY }));
  beforeEach(async () => {
    await query(service.databaseUrl, 'TRUNCATE users, user_words', []);
  });

  async function insert(rows: readonly Row[], url = service.databaseUrl): Promise<void> {
    const keyOf = (text: string | null) => (text === null ? null : addressKey(text));
    const columns = [
      rows.map(({ provider, id }) => deriveUserId(provider, id)),
      rows.map(({ provider }) => provider),
      rows.map(({ id }) => id),
      rows.map(({ username }) => username),
      rows.map(({ email }) => email),
      rows.map(({ email }) => keyOf(email)),
      rows.map(({ roles }) => (roles.length > 0 ? JSON.stringify({ roles }) : null)),
      rows.map(({ suspended }) => suspended),
      rows.map(({ at }) => at),
    ];
    await query(url, INSERT, columns);
    const words = rows.flatMap(({ provider, id, username, email }) =>
      wordKeys(username, email).map((word) => [deriveUserId(provider, id), word] as const),
    );
    await query(url, INSERT_WORDS, [words.map(([userId]) => userId), words.map(([, word]) => word)]);
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
      ['x3@', '田中 花子'],
      // words: in any order, from their beginning
      ['love', 'Ada Lovelace'],
      ['lovelace  ada', 'Ada Lovelace'],
      ['花子', '田中 花子'],
      ['brien', "O'Brien \\"],
      ['OBrien', "O'Brien \\"],
      ['O’Brien', "O'Brien \\"],
      ['ada x0', 'Ada Lovelace'], // of the name, and of the address
      ['sure.100', '100%_sure'],
    ];
    for (const [q, name] of found) expect([q, await find({ q })]).toEqual([q, [name]]);
    for (const q of ['velace', 'ada lovelacex', '_', '%', "'", 'example.com', '@example.com', 'x3@example.org', 'x\u{10ffff}y'] as const) {
      expect([q, await find({ q })]).toEqual([q, []]);
    }
    expect(await find({ q: 'x' })).toEqual(names); // by the address
    expect(await find({ q: 'ada', email: 'X0@example.com' })).toEqual(['Ada Lovelace']);
    expect(await find({ q: 'bob', email: 'X0@example.com' })).toEqual([]);
    expect(await find({ q: '' })).toHaveLength(names.length);
  }); // oxfmt-ignore

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
          directory: null,
          created_at: new Date(BEGIN).toISOString(),
          last_seen_at: expect.any(String),
          online: false,
          live_sessions: 0,
        },
      ],
      undefined,
    ]);
  });

  it('pages through all that match, once each: by the key that is searched, all else newest first', async () => {
    const rows = Array.from({ length: 1500 }, (_, i) => {
      const name = ['Ann', 'ANNE', 'Bo', 'bob', 'Zoë'][i % 5]!;
      return row(`u${i}`, {
        username: i % 7 === 0 ? null : `${name} ${i % 500}`, // three users with each name
        email: i % 3 === 0 ? null : `${i % 2 ? 'ann' : 'mail'}${i}@example.com`,
        roles: [...(i % 2 ? ['member'] : []), ...(i % 300 === 5 ? ['rare'] : [])],
        suspended: i % 11 === 0,
        provider: i % 501 === 3 ? 'github' : 'corp',
        at: BEGIN + (i % 40) * DAY_MS + (i % 2 ? 0 : i * 7), // some at one moment
      });
    });
    await insert(rows);
    const all = rows.map((one) => ({ ...one, userId: deriveUserId(one.provider, one.id) }));
    type User = (typeof all)[number];
    const compare = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
    const newest = (fits: (one: User) => boolean): User[] =>
      all.filter(fits).toSorted((a, b) => b.at - a.at || compare(b.userId, a.userId));
    const byKey = (keyOf: (one: User) => string, fits: (one: User) => boolean): User[] =>
      all.filter(fits).toSorted((a, b) => compare(keyOf(a), keyOf(b)) || compare(a.userId, b.userId));
    const byEmail = (fits: (one: User) => boolean): User[] => byKey(({ email }) => addressKey(email!), fits);
    const keysOf = (one: User, word: string): string[] =>
      wordKeys(one.username, one.email)
        .filter((key) => key.startsWith(word))
        .toSorted(compare);
    /** In the order of the word that the fewest users have. */
    const byWords = (q: string, fits = (_one: User): boolean => true): User[] => {
      const words = searchedWords(q);
      const count = (word: string): number => all.flatMap((one) => keysOf(one, word)).length;
      const [rarest] = words.toSorted((a, b) => count(a) - count(b));
      const hasAll = (one: User): boolean => words.every((word) => keysOf(one, word).length > 0);
      return byKey(
        (one) => keysOf(one, rarest!)[0]!,
        (one) => hasAll(one) && fits(one),
      );
    };
    const beginsAt = (one: User): boolean => addressKey(one.email ?? '').startsWith('ann1@');
    const searches: [Record<string, string>, User[]][] = [
      [{}, newest(() => true)],
      [{ q: 'ann' }, byWords('ann')],
      [{ q: 'a' }, byWords('a')],
      [{ q: 'ANN 1' }, byWords('ann 1')],
      [{ q: '12 ann' }, byWords('ann 12')],
      [{ q: 'ann bob' }, byWords('ann bob')],
      [{ q: 'ann1@' }, [...byEmail(beginsAt), ...byWords('ann1', (one) => !beginsAt(one))]],
      [{ q: 'mail' }, byWords('mail')],
      [{ q: 'zoë', suspended: 'true' }, byWords('zoë', ({ suspended }) => suspended)],
      [{ q: 'bo', provider: 'github' }, byWords('bo', ({ provider }) => provider === 'github')],
      [{ role: 'member' }, newest(({ roles }) => roles.includes('member'))],
      [{ role: 'rare', suspended: 'false' }, newest((one) => one.roles.includes('rare') && !one.suspended)],
      [{ role: 'nobody' }, []],
      [{ provider: 'corp', suspended: 'true' }, newest((one) => one.provider === 'corp' && one.suspended)],
      [{ provider: 'github' }, newest(({ provider }) => provider === 'github')],
      [{ suspended: 'true' }, newest(({ suspended }) => suspended)],
      [{ email: 'ANN1@example.com' }, byEmail(({ email }) => email === 'ann1@example.com')],
      [{ email: 'ann1@example.com', q: 'bob' }, []],
      [{ email: 'ann1@example.com', q: 'ann' }, byEmail(({ email }) => email === 'ann1@example.com')],
    ];
    for (const [parameters, wanted] of searches) {
      const ids = wanted.map(({ id }) => id);
      for (const limit of ['7', '200']) {
        if (limit === '7' && ids.length > 500) continue;
        expect([parameters, await find({ ...parameters, limit })]).toEqual([parameters, ids]);
      }
    }
  });

  it('common words that few users have together are looked for page by page', async () => {
    const both = row('both', { username: 'Maria Zz Juan' });
    await insert([both]);
    await query(
      service.databaseUrl,
      `WITH many AS (
         INSERT INTO users (user_id, provider, provider_user_id)
         SELECT gen_random_uuid(), 'corp', name || n FROM generate_series(1, 5200) AS n, unnest(ARRAY['MARIA', 'JUAN']) AS name
         RETURNING user_id, provider_user_id)
       INSERT INTO user_words (user_id, word) SELECT user_id, rtrim(provider_user_id, '0123456789') || ' A' FROM many`,
      [],
    );
    const first = await page({ q: 'maria juan' });
    expect([first.users, first.next_cursor]).toEqual([[], expect.any(String)]);
    expect(await find({ q: 'maria juan' })).toEqual(['both']);
    expect(await find({ q: 'juan zz' })).toEqual(['both']);
    expect((await page({ q: 'zz juan' })).next_cursor).toBeUndefined(); // the rare word is looked for
    expect((await ask({ q: 'zz', cursor: first.next_cursor! }).expect(400)).body).toMatchObject({
      error: 'invalid_request',
    });
  });

  it('pages through users with one e-mail address', async () => {
    const rows = Array.from({ length: 5 }, (_, i) => row(`u${i}`, { email: 'Ada@example.com' }));
    await insert(rows);
    const ids = rows
      .map(({ id }) => id)
      .toSorted((a, b) => (deriveUserId('corp', a) < deriveUserId('corp', b) ? -1 : 1));
    expect(await find({ email: 'ada@EXAMPLE.com', limit: '2' })).toEqual(ids);
  });

  it('a search that takes too long is an error that says what to do', async () => {
    const hurried = await startTestService({ SERVICE_KEYS: SERVICE_KEY }, { hasOwnLimits: true });
    const { url, databaseUrl } = hurried;
    try {
      await insert([row('ada', { username: 'Ada', roles: ['member'] })], databaseUrl);
      await query(databaseUrl, 'ALTER TABLE users RENAME TO stored', []);
      // Instead of millions of users.
      await query(databaseUrl, 'CREATE VIEW users AS SELECT stored.* FROM stored, pg_sleep(60)', []);
      const wide = {
        error: 'invalid_request',
        error_description: 'the search takes too long: narrow the search',
      };
      const away = { error: 'server_error', error_description: 'the database is unavailable' };
      for (const [search, body] of [
        ['role=member', wide],
        ['provider=corp&q=a', wide],
        ['q=a', away],
      ] as const) {
        const answer = await bearer(url, SERVICE_KEY).get(`/users?${search}`);
        expect([search, answer.body]).toEqual([search, body]);
      }
    } finally {
      await hurried.close();
    }
  });

  it.each([{}, { q: 'ada' }])(
    'users who arrive between two pages move none of the others: %j',
    async (filter) => {
      const name = (i: number): string => `Ada ${String(200 - i)}`; // both orders are alike
      const rows = Array.from({ length: 30 }, (_, i) => row(`u${i}`, { username: name(i), at: BEGIN + i }));
      await insert(rows);
      const first = await page({ ...filter, limit: '10' });
      await insert([
        row('new', { username: name(50), at: BEGIN + 100 }),
        row('old', { username: name(-1), at: BEGIN - 1 }),
      ]);
      const second = await page({ ...filter, limit: '10', cursor: first.next_cursor! });
      const third = await page({ ...filter, limit: '11', cursor: second.next_cursor! });
      const ids = [first, second, third].flatMap(({ users }) => users.map((user) => user.provider_user_id));
      expect(ids).toEqual([...rows.map(({ id }) => id).toReversed(), 'old']);
      expect(third.next_cursor).toBeUndefined();
    },
  );

  it.each<[Record<string, string>, string]>([
    [{ limit: '0' }, 'limit must be a whole number from 1 to 200'],
    [{ limit: '201' }, 'limit must be a whole number from 1 to 200'],
    [{ limit: '5x' }, 'limit must be a whole number from 1 to 200'],
    [{ suspended: '1' }, 'suspended must be true or false'],
    [{ cursor: '?' }, 'cursor must be the next_cursor of an answer'],
    [{ cursor: 'x' }, 'cursor must be the next_cursor of an answer to the same search'],
    [{ cursor: ID_CURSOR, q: 'a' }, 'cursor must be the next_cursor of an answer to the same search'],
    [
      { cursor: formatSearchCursor({ by: 'name', key: 'A\0', id: ID }), q: 'a' },
      'cursor must be the next_cursor of an answer to the same search',
    ],
    [
      { cursor: formatSearchCursor({ by: 'created', key: '1e9', id: ID }) },
      'cursor must be the next_cursor of an answer to the same search',
    ],
    [
      { cursor: formatSearchCursor({ by: 'created', key: '1', id: 'x' }) },
      'cursor must be the next_cursor of an answer to the same search',
    ],
    [{ q: 'x'.repeat(256) }, 'q must be text of at most 255 characters'],
    [{ q: '\0' }, 'q must be text of at most 255 characters'],
    [{ provider_user_id: 'ada' }, 'provider_user_id needs provider, and must not be empty'],
    [{ emial: 'ada@example.org' }, `a query parameter is unknown (did you mean email?): use ${KNOWN}`],
    [{ user_id: 'x', q: 'a' }, `a query parameter is unknown: use ${KNOWN}`],
    [{ provider: 'corp', provider_user_id: '' }, 'provider_user_id needs provider, and must not be empty'],
  ])('refuses %j', async (parameters, error_description) => {
    expect((await ask(parameters).expect(400)).body).toEqual({ error: 'invalid_request', error_description });
  });

  it('answers the longest cursors, and a parameter that comes twice', async () => {
    await insert([row('ada')]);
    const latest = formatSearchCursor({ by: 'created', key: '9'.repeat(16), id: ID });
    expect((await page({ cursor: latest })).users).toHaveLength(1);
    const username = '\u0001'.repeat(255); // six bytes of JSON each
    await insert([row('a', { username }), row('b', { username })]);
    expect(await find({ q: '\u0001', limit: '1' })).toHaveLength(2);
    await bearer(service.url, SERVICE_KEY).get('/users?q=a&q=b').expect(400);
  });
});
