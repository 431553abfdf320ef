import { deriveUserId } from '../../src/identity/user-id.js';
import { query } from '../support/database.js';
import { DIRECTORY_ENV } from '../support/directory.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { bearer } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const COUNT = 30;

/** `n` is 1 … COUNT, and each third user has another state; three users have each time, a microsecond apart. */
const INSERT = `
  WITH made AS (
    INSERT INTO users (user_id, provider, provider_user_id, claims, created_at)
    SELECT user_id, 'stub', n::text, CASE WHEN n % 2 = 0 THEN '{"roles": ["even"]}'::jsonb END,
      '2026-01-01'::timestamptz + n / 3 * interval '1 microsecond'
    FROM unnest($1::uuid[]) WITH ORDINALITY AS one (user_id, n)
    RETURNING user_id, provider_user_id::int AS n, created_at
  )
  INSERT INTO directory_states (user_id, active, changed_at, created_at)
  SELECT user_id, n % 3 = 0, now(), created_at FROM made WHERE n % 3 < 2`;

interface Page {
  readonly users: { readonly provider_user_id: string; readonly directory: { active: boolean } | null }[];
  readonly next_cursor?: string;
}

/** `GET /users?directory=…` (docs/directory.md#what-it-does). */
describe('the search for users by what the directory says', () => {
  let env: Record<string, string>;

  const provider = use(() => StubProvider.start());
  beforeAll(() => {
    env = { ...provider.env(), SERVICE_KEYS: SERVICE_KEY };
  });
  const service = use(() => startTestService({ ...env, ...DIRECTORY_ENV }));
  beforeAll(async () => {
    const names = Array.from({ length: COUNT }, (_, i) => String(i + 1));
    await query(service.databaseUrl, INSERT, [names.map((name) => deriveUserId('stub', name))]);
  });

  /** Reads all pages. */
  async function search(parameters: string, at = service.url): Promise<Page['users']> {
    const users: Page['users'] = [];
    let next = '';
    do {
      const { body } = await bearer(at, SERVICE_KEY).get(`/users?${parameters}&limit=3${next}`).expect(200);
      const page = body as Page;
      users.push(...page.users);
      next = page.next_cursor === undefined ? '' : `&cursor=${page.next_cursor}`;
    } while (next !== '');
    return users;
  }
  const stateOf = (n: number) => ['active', 'inactive', 'none'][n % 3]!;
  const numbers = (users: Page['users']): number[] => users.map((user) => Number(user.provider_user_id));

  it.each(['active', 'inactive', 'none'])('%s: finds each user once, newest first', async (state) => {
    const all = Array.from({ length: COUNT }, (_, i) => i + 1).filter((n) => stateOf(n) === state);
    const users = await search(`directory=${state}`);
    expect(numbers(users)).toEqual(all.toReversed());
    const shown = new Map(Object.entries({ active: true, inactive: false }));
    expect(new Set(users.map(({ directory }) => directory?.active))).toEqual(new Set([shown.get(state)]));
    const even = await search(`directory=${state}&role=even`);
    expect(numbers(even)).toEqual(all.toReversed().filter((n) => n % 2 === 0));
  });

  it('finds nobody whom a directory knows, while none is on', async () => {
    const other = await startTestService({ ...env, DATABASE_URL: service.databaseUrl });
    try {
      expect(await search('directory=active', other.url)).toEqual([]);
      const all = await search('directory=none', other.url);
      expect([all.length, new Set(all.map(({ directory }) => directory))]).toEqual([COUNT, new Set([null])]);
    } finally {
      await other.close();
    }
  });
});
