import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { Agent, agentsFile, AGENTS, API, OTHER_API, type AgentTokens } from './agent.js';
import { storedEvents } from '../support/audit.js';
import { query } from '../support/database.js';
import { EventStreamReader } from '../support/event-stream.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { bearer, claimsOf, signIn } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { use, useInstances } from '../support/use.js';

const DESK = 'a-key-of-the-support-desk-for-programs';
/** Users with a program each. */
const MANY = 10_000;

const sidOf = ({ access_token }: { access_token: string }): unknown => claimsOf(access_token)['sid'];

/** `POST /agents/sign-out`, and the numbers before it. */
describe('the end of a program for all users', () => {
  const { provider, here, there } = useInstances(() => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    SERVICE_KEYS: `read:${SERVICE_KEY},desk=support:${DESK}`,
    AGENTS_FILE: agentsFile(),
  }));
  let who = 'ada';
  beforeAll(() => provider.signInAtOnce(() => who));
  beforeEach(() => (who = randomUUID()));

  const sql = (text: string, values: unknown[] = []) => query(here.databaseUrl, text, values);
  const end = async (body: object): Promise<number> => {
    const asked = bearer(here.url, DESK).post('/agents/sign-out', body);
    return ((await asked.expect(200)).body as { sessions: number }).sessions;
  };
  const programs = async (): Promise<object[]> => {
    const { body } = await bearer(there.url, DESK).get('/admin/agents').expect(200);
    return (body as { programs: object[] }).programs;
  };
  const isActive = async ({ access_token: token }: AgentTokens): Promise<boolean> => {
    const { body } = await bearer(there.url, SERVICE_KEY).post('/oauth2/introspect', { token }).expect(200);
    return (body as { active: boolean }).active;
  };

  it('ends its sessions on all instances, at all APIs or at one, and no others', async () => {
    const phone = await signIn(here.url, who);
    const socket = await SocketClient.connect(there.url, phone.access_token);
    const feed = await EventStreamReader.open(there.url, SERVICE_KEY);
    const [web, cli] = [new Agent(here.url), new Agent(here.url, AGENTS.cli)];
    const [orders, notes, own] = [
      await web.allowed(),
      await web.allowed({ resource: OTHER_API }),
      await cli.allowed(),
    ];
    expect(await programs()).toEqual([
      { client_id: 'cli-agent', client_name: 'CLI Agent', resource: API, sessions: 1 },
      { client_id: 'web-agent', client_name: 'Web Agent', resource: API, sessions: 1 },
      { client_id: 'web-agent', client_name: 'Web Agent', resource: OTHER_API, sessions: 1 },
    ]);

    expect(await end({ client_id: 'web-agent', resource: 'HTTPS://API.example/mcp' })).toBe(1);
    expect([await isActive(orders), await isActive(notes)]).toEqual([false, true]);
    expect((await web.refresh(orders)).body).toMatchObject({ error: 'invalid_grant' });
    expect(await end({ client_id: 'web-agent' })).toBe(1);
    expect(await isActive(notes)).toBe(false);
    expect(await end({ client_id: 'web-agent' })).toBe(0);
    expect(await end({ client_id: 'nobody' })).toBe(0);

    const ended = [sidOf(orders), sidOf(notes)];
    await until(() => ended.every((sid) => feed.sessions.includes(sid as string)), 'the feed has both');
    feed.close();
    const signedOut = () => socket.received.filter(({ event }) => event === 'device.signed_out');
    await until(() => signedOut().length === 2, 'two devices are signed out');
    expect(signedOut()).toMatchObject([
      { data: { device_id: claimsOf(orders.access_token)['device_id'], device_name: 'Web Agent' } },
      { data: { device_id: claimsOf(notes.access_token)['device_id'] } },
    ]);
    expect(await isActive(own)).toBe(true);
    await bearer(here.url, phone.access_token).get('/me').expect(200);
    socket.close();
    const events = (await storedEvents(here.databaseUrl)).filter(({ session_id: id }) => ended.includes(id));
    const ends = events.filter(({ event }) => event === 'sign_out');
    const common = { user_id: phone.user_id, provider: 'stub', actor: { type: 'service_key', name: 'desk' } };
    expect(ends).toMatchObject([common, common]);
    expect(new Set(ends.map(({ session_id: id }) => id))).toEqual(new Set(ended));
    expect(await end({ client_id: 'cli-agent' })).toBe(1);
    expect(await programs()).toEqual([]);
  });

  it('takes back what waits, and leaves the user free to allow it again', async () => {
    const [asked, coded] = [new Agent(here.url), new Agent(here.url)];
    const [page, code] = [await asked.ask(), await coded.code()];
    const others = [new Agent(here.url), new Agent(here.url, AGENTS.cli)];
    const codes = [await others[0]!.code({ resource: OTHER_API }), await others[1]!.code()];
    expect(await end({ client_id: 'web-agent', resource: API })).toBe(0);
    expect((await coded.redeem(code)).body).toMatchObject({ error: 'invalid_grant' });
    const { headers } = await asked.answer(page, 'yes');
    expect([headers['location'], headers['refresh']]).toEqual([undefined, undefined]);
    for (const [i, other] of others.entries()) {
      await other.redeem(codes[i]!, { resource: undefined }).expect(200);
    }
    expect(await isActive(await new Agent(here.url).allowed())).toBe(true);
    expect(await end({ client_id: 'web-agent' })).toBe(2);
    expect(await end({ client_id: 'cli-agent' })).toBe(1);
  });

  it.each([
    [{}, 'client_id is required'],
    [{ client_id: '' }, 'client_id'],
    [{ client_id: 'web-agent', resource: '' }, 'resource must be'],
    [{ client_id: 7 }, 'client_id'],
  ])('refuses %j and ends nothing', async (body, words) => {
    const tokens = await new Agent(here.url).allowed();
    const { body: refusal } = await bearer(here.url, DESK).post('/agents/sign-out', body).expect(400);
    expect(refusal).toMatchObject({
      error: 'invalid_request',
      error_description: expect.stringContaining(words),
    });
    expect(await isActive(tokens)).toBe(true);
    await end({ client_id: 'web-agent' });
  });

  it('ends 10,000 sessions of 10,000 users in slices, with the number before and after', async () => {
    await sql(
      `WITH made AS MATERIALIZED (
         SELECT gen_random_uuid() AS user_id, gen_random_uuid() AS session_id, n
         FROM generate_series(1, $1) AS n
       ), people AS (
         INSERT INTO users (user_id, provider, provider_user_id) SELECT user_id, 'stub', 'many ' || n FROM made
       ), devices AS (
         INSERT INTO devices (user_id, device_id, device_name) SELECT user_id, $2, 'Many' FROM made
       ), sessions AS (
         INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at)
         SELECT user_id, session_id, $2, sha256(n::text::bytea), now() + interval '1 day' FROM made
       )
       INSERT INTO agent_devices (user_id, device_id, session_id, client_id, client_name, resource, scope,
         authentication, allowed_at, ends_at)
       SELECT user_id, $2, session_id, 'many', 'Many', $3, 'orders:read', '{"method":"none"}', now(),
         now() + interval '1 day' FROM made`,
      [MANY, 'a6e17000-0000-8000-8000-000000000001', API],
    );
    const kind = { client_id: 'many', client_name: 'Many', resource: API };
    expect(await programs()).toEqual([{ ...kind, sessions: MANY }]);
    expect(await end({ client_id: 'many' })).toBe(MANY);
    expect(await programs()).toEqual([]);
    const [found] = await sql(
      `SELECT count(*)::int AS ended, count(DISTINCT xmin::text)::int AS transactions FROM refresh_tokens
       WHERE device_id = 'a6e17000-0000-8000-8000-000000000001' AND signed_out_at IS NOT NULL`,
    );
    expect(found).toEqual({ ended: MANY, transactions: MANY / 1000 });
    const rows = await sql(
      `SELECT (SELECT count(*)::int FROM audit_events WHERE event = 'sign_out' AND actor_name = 'desk'
           AND device_id = $1) AS recorded,
         (SELECT count(*)::int FROM channel_events WHERE event = 'device.signed_out' AND data LIKE '%Many%')
           AS announced`,
      ['a6e17000-0000-8000-8000-000000000001'],
    );
    expect(rows).toEqual([{ recorded: MANY, announced: MANY }]);
  });
});

describe('without AGENTS_FILE', () => {
  const service = use(() => startTestService({ SERVICE_KEYS: SERVICE_KEY }));

  it('there is nothing to end, and no list', async () => {
    const asked = request(service.url).post('/agents/sign-out').set('Authorization', `Bearer ${SERVICE_KEY}`);
    await asked.send({ client_id: 'web-agent' }).expect(404);
    await bearer(service.url, SERVICE_KEY).get('/admin/agents').expect(404);
  });
});
