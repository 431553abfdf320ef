import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { AuditSearch } from '../../src/audit/search/audit-search.js';
import { query } from '../support/database.js';
import { SERVICE_KEY } from '../support/service.js';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { useService } from '../support/use.js';

const OTHER_KEYS = ['b', 'c'].map((letter) => letter.repeat(32));
const [MOST_OF_ONE, MOST_EXPORTS] = [4, 10];

type Rows = Record<string, unknown>[];

interface Document {
  readonly user: Record<string, unknown>;
  readonly devices: Rows;
  readonly sessions: Rows;
  readonly audit_events: Rows;
  readonly has_older_events: boolean;
}

describe('the data of a user, as one file', () => {
  const { provider, service } = useService({
    SERVICE_KEYS: [SERVICE_KEY, ...OTHER_KEYS].join(','),
    DATABASE_POOL_SIZE: '3',
  });

  const backend = () => bearer(service.url, SERVICE_KEY);
  const exportOf = async ({ user_id }: Tokens): Promise<Document> =>
    (await backend().get(`/users/${user_id}/export`).expect(200)).body as Document;
  const insert = (text_: string, userId: string) => query(service.databaseUrl, text_, [userId]);

  /** Begins to download, and reads nothing yet. */
  async function begin(userId: string, key = SERVICE_KEY): Promise<IncomingMessage> {
    const headers = { Authorization: `Bearer ${key}` };
    const [answer] = (await once(get(`${service.url}/users/${userId}/export`, { headers }), 'response')) as [
      IncomingMessage,
    ];
    return answer;
  }

  /** Larger than what the sockets buffer. */
  const addSessions = (userId: string) =>
    insert(
      `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at, user_agent)
       SELECT $1, gen_random_uuid(), '', now() + interval '1 day', repeat('x', 1024) FROM generate_series(1, 9000)`,
      userId,
    );

  it('has what the other calls say of the user, and no secret', async () => {
    const user = randomUUID();
    provider.answerWith(200, {
      provider_user_id: user,
      username: 'Ada "the first" Lovelace',
      email: `${user}@example.com`,
      roles: ['reader'],
    });
    const tokens = await signIn(service.url, user, { device_id: randomUUID(), device_name: 'Laptop' });
    provider.reset();
    const path = `/users/${tokens.user_id}`;
    await backend()
      .put(`${path}/claims`, { claims: { plan: 'pro' } })
      .expect(200);
    const response = await backend().get(`${path}/export`).expect(200);
    expect(response.headers).toMatchObject({
      'content-type': expect.stringMatching(/^application\/json\b/),
      'content-disposition': `attachment; filename="user-${tokens.user_id}.json"`,
      'cache-control': 'no-store',
    });
    const { body: detail } = (await backend().get(path)) as { body: Document };
    const { devices, sessions, ...view } = detail;
    const { body: claims } = (await backend().get(`${path}/claims`)) as { body: object };
    const { body: audit } = (await backend().get(`/audit?user_id=${tokens.user_id}`)) as {
      body: { events: Rows };
    };
    expect(audit.events.map(({ event }) => event)).toEqual(['claims_changed', 'sign_in']);
    expect(response.body).toEqual({
      exported_at: expect.any(String),
      user: view,
      identity: { email: (view as Record<string, unknown>)['email'] },
      further_identities: [],
      claims,
      devices,
      sessions,
      audit_events: audit.events,
      has_older_events: false,
    });
    const [row] = await query<{ hash: Buffer }>(
      service.databaseUrl,
      'SELECT token_hash AS hash FROM refresh_tokens WHERE user_id = $1',
      [tokens.user_id],
    );
    const secrets = [
      tokens.refresh_token,
      tokens.access_token,
      row!.hash.toString('hex'),
      row!.hash.toString('base64'),
    ];
    for (const secret of secrets) expect(response.text).not.toContain(secret);
  });

  it('has each device, session and event once, and the newest 10,000 events', async () => {
    const tokens = await signIn(service.url, randomUUID());
    const { user_id: userId } = tokens;
    await insert(
      `INSERT INTO devices (user_id, device_id) SELECT $1, gen_random_uuid() FROM generate_series(1, 250)`,
      userId,
    );
    await insert(
      `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at)
       SELECT $1, gen_random_uuid(), '', now() + interval '1 day' FROM generate_series(1, 449)`,
      userId,
    );
    // of no live session
    await insert(
      `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at, signed_out_at)
       VALUES ($1, gen_random_uuid(), '', now() - interval '1 second', NULL), ($1, gen_random_uuid(), '', now(), now())`,
      userId,
    );
    await insert(
      `INSERT INTO audit_events (user_id, at, id, event, result, actor_type)
       SELECT $1, now() - n * interval '1 minute', gen_random_uuid(), 'sign_out', 'ok', 'user' FROM generate_series(1, 9999) AS n`,
      userId,
    );
    const all = await exportOf(tokens);
    const ids = (rows: Rows, name: string) => rows.map((row) => row[name] as string);
    for (const [of, count] of [
      [ids(all.devices, 'device_id'), 250],
      [ids(all.sessions, 'session_id'), 450],
      [ids(all.audit_events, 'id'), 10_000],
    ] as const)
      expect([of.length, new Set(of).size]).toEqual([count, count]);
    expect(all.user).toMatchObject({ live_sessions: 450 });
    expect(all.has_older_events).toBe(false);
    await insert(
      `INSERT INTO audit_events (user_id, at, id, event, result, actor_type)
       VALUES ($1, now() - interval '1 year', gen_random_uuid(), 'sign_in', 'ok', 'user')`,
      userId,
    );
    const { audit_events: events, has_older_events: hasOlder } = await exportOf(tokens);
    expect([events, hasOlder]).toEqual([all.audit_events, true]);
  });

  it('slow readers hold no connection to the database; a fifth of a key and an eleventh of all wait', async () => {
    const { user_id: userId } = await signIn(service.url, randomUUID());
    await addSessions(userId);
    const answers: IncomingMessage[] = [];
    const beginAll = async (keys: readonly string[]) => {
      answers.push(...(await Promise.all(keys.map((key) => begin(userId, key)))));
      expect(answers.map(({ statusCode }) => statusCode)).toEqual(answers.map(() => 200));
    };
    const expectRefused = async (key: string) => {
      const refused = await bearer(service.url, key).get(`/users/${userId}/export`).expect(429);
      expect([refused.body, refused.headers['retry-after']]).toEqual([
        { error: 'slow_down', error_description: expect.any(String) },
        '2',
      ]);
    };
    await beginAll(Array.from({ length: MOST_OF_ONE }, () => SERVICE_KEY));
    await expectRefused(SERVICE_KEY);
    const others = Array.from({ length: MOST_EXPORTS - MOST_OF_ONE }, (_, i) => OTHER_KEYS[i % 2]!);
    await beginAll(others);
    await expectRefused(OTHER_KEYS[0]!);
    // Three connections, ten readers: once their first pages are read, no read waits.
    await until(async () => (await backend().get(`/users/${userId}`)).status === 200);
    answers[0]!.destroy();
    await until(async () => (await exportStatus(userId)) === 200);
    for (const answer of answers.splice(3)) answer.destroy();
    for (const answer of answers.slice(1)) {
      const { sessions } = JSON.parse(await text(answer)) as Document;
      expect(sessions).toHaveLength(9001);
    }
  });

  it('breaks off if a page cannot be read', async () => {
    const { user_id: userId } = await signIn(service.url, randomUUID());
    const search = service.app.get(AuditSearch);
    const find = search.find.bind(search);
    search.find = () => Promise.reject(new Error('the database is away'));
    await expect(text(await begin(userId))).rejects.toThrow('aborted');
    search.find = find;
    expect(await exportStatus(userId)).toBe(200);
  });

  async function exportStatus(userId: string): Promise<number | undefined> {
    const answer = await begin(userId);
    answer.destroy();
    return answer.statusCode;
  }
});
