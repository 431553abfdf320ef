import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { query } from '../support/database.js';
import { SERVICE_KEY } from '../support/service.js';
import { bearer, claimsOf, signIn } from '../support/sign-in.js';
import { useService } from '../support/use.js';
import { Agent, AGENTS, agentsFile, API, OTHER_API } from './agent.js';

/** Users of the program that was found out; `PROGRAM_USERS` for a measurement. */
const USERS = Number(process.env['PROGRAM_USERS'] ?? 1100);

describe('a program that was found out', () => {
  const { provider, service } = useService(() => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    SERVICE_KEYS: `${SERVICE_KEY},read:a-key-that-may-only-read-and-nothing-else`,
    AGENTS_FILE: agentsFile(),
  }));
  let who = 'ada';
  beforeAll(() => provider.signInAtOnce(() => who));
  beforeEach(() => (who = randomUUID()));

  const signOut = (body: object, key = SERVICE_KEY) =>
    request(service.url).post('/agents/sign-out').set('Authorization', `Bearer ${key}`).send(body);
  const devicesOf = async (token: string): Promise<{ agent?: object; signed_in: boolean }[]> => {
    const { body } = await bearer(service.url, token).get('/devices').expect(200);
    return (body as { devices: { agent?: object; signed_in: boolean }[] }).devices;
  };

  /** Copies a user with devices, sessions and programs. */
  async function multiply(userId: string): Promise<void> {
    for (const table of ['users', 'devices', 'refresh_tokens', 'agent_devices']) {
      await query(
        service.databaseUrl,
        `INSERT INTO ${table} SELECT (jsonb_populate_record(one, jsonb_build_object(
          'user_id', lpad(to_hex(n), 8, '0') || substr($1::text, 9),
          'provider_user_id', 'other ' || n))).*
         FROM ${table} one, generate_series(1, $2::int - 1) n WHERE one.user_id = $1::uuid`,
        [userId, USERS],
      );
      await query(service.databaseUrl, `ANALYZE ${table}`); // as autovacuum does after so many rows
    }
  }

  it('is shown as what it is, and ends at all users, at one of its APIs or everywhere', async () => {
    const phone = await signIn(service.url, who); // without a device
    const tokens = await new Agent(service.url).allowed({}, ['orders:read']);
    const elsewhere = await new Agent(service.url).allowed({ resource: OTHER_API });
    const other = new Agent(service.url, AGENTS.cli);
    const untouched = await other.allowed();
    expect((await devicesOf(phone.access_token)).map(({ agent }) => agent)).toEqual(
      expect.arrayContaining([
        {
          client_id: 'web-agent',
          client_name: 'Web Agent',
          resource: API,
          scope: 'orders:read',
          allowed_at: expect.any(String),
        },
      ]),
    );
    await signOut({ client_id: 'web-agent' }, 'a-key-that-may-only-read-and-nothing-else').expect(403);
    await signOut({}).expect(400);
    const { body: ofApi } = await signOut({ client_id: 'web-agent', resource: API }).expect(200);
    expect(ofApi).toEqual({ sessions: 1, remaining: 0 });
    await new Agent(service.url).refresh(tokens).expect(401);
    await new Agent(service.url).refresh(elsewhere).expect(200);
    const { user_id } = phone;
    await multiply(user_id);
    const began = performance.now();
    let [sessions, remaining] = [0, USERS];
    while (remaining > 0) {
      const { body } = await signOut({ client_id: 'web-agent' }).expect(200);
      expect(body).toEqual({ sessions: expect.any(Number), remaining: remaining - body.sessions });
      ({ remaining } = body);
      sessions += body.sessions;
    }
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    if (process.env['PROGRAM_USERS']) process.stdout.write(`${USERS} sessions of a program: ${seconds} s\n`);
    expect(sessions).toBe(USERS);
    expect((await signOut({ client_id: 'web-agent' }).expect(200)).body).toEqual({
      sessions: 0,
      remaining: 0,
    });
    await new Agent(service.url).refresh(elsewhere).expect(401);
    await other.refresh(untouched).expect(200);
    expect(claimsOf(untouched.access_token)['sub']).toBe(user_id);
    const left = (await devicesOf(phone.access_token)).filter(({ agent, signed_in: isIn }) => agent && isIn);
    expect(left).toMatchObject([{ agent: { client_id: 'cli-agent' } }]);
  });
});
