import { randomUUID } from 'node:crypto';
import { Agent, agentsFile, API, BROWSER, OTHER_API } from './agent.js';
import { connect } from '../support/database.js';
import { SERVICE_KEY } from '../support/service.js';
import { bearer, claimsOf, signIn } from '../support/sign-in.js';
import { useService } from '../support/use.js';

interface Listed {
  device_id: string;
  signed_in: boolean;
  agent?: object;
}

describe('programs among the devices of a user', () => {
  const { provider, service } = useService(() => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    SERVICE_KEYS: SERVICE_KEY,
    AGENTS_FILE: agentsFile(),
  }));
  let who = 'ada';
  beforeAll(() => provider.signInAtOnce(() => who));
  beforeEach(() => (who = randomUUID()));

  const desk = () => bearer(service.url, SERVICE_KEY);
  const read = async (call: PromiseLike<{ body: unknown }>): Promise<Listed[]> =>
    ((await call).body as { devices: Listed[] }).devices;

  it('are described in each list, and ended as any device', async () => {
    const phone = await signIn(service.url, who, { device_id: randomUUID(), device_name: 'Phone' });
    const own = bearer(service.url, phone.access_token);
    const orders = await new Agent(service.url).allowed({}, ['orders:write']);
    const notes = await new Agent(service.url).allowed({ resource: OTHER_API });
    const [first, second] = [orders, notes].map((one) => claimsOf(one.access_token)['device_id'] as string);
    const expected = (device_id: string | undefined, resource: string, scope: string) => ({
      device_id,
      device_name: 'Web Agent',
      user_agent: BROWSER,
      signed_in: true,
      agent: {
        client_id: 'web-agent',
        client_name: 'Web Agent',
        resource,
        scope,
        allowed_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    });
    const of = `/users/${phone.user_id}`;
    const lists = [
      own.get('/devices'),
      desk().get(of),
      desk().get(`${of}/devices`),
      desk().get(`${of}/export`),
    ];
    for (const call of lists) {
      const listed = await read(call.expect(200));
      const programs = new Map(listed.map((device) => [device.device_id, device]));
      expect(programs.get(first!)).toMatchObject(expected(first, API, 'orders:write'));
      expect(programs.get(second!)).toMatchObject(expected(second, OTHER_API, 'notes:read'));
      expect(listed).toHaveLength(3);
      expect(listed.filter((device) => 'agent' in device)).toHaveLength(2);
    }

    await own.delete(`/devices/${first}`).expect(204);
    await desk().post(`${of}/sign-out`, { device_id: second }).expect(200, { sessions: 1 });
    const left = await read(own.get('/devices').expect(200));
    expect(left.map(({ device_id }) => device_id)).not.toContain(first);
    expect(left.find(({ device_id }) => device_id === second)).toMatchObject({
      ...expected(second, OTHER_API, 'notes:read'),
      signed_in: false,
    });
  });

  it('cost users without programs no statement', async () => {
    const phone = await signIn(service.url, who, { device_id: randomUUID() });
    const client = await connect(service.databaseUrl);
    await client.query('BEGIN; LOCK TABLE agent_devices IN ACCESS EXCLUSIVE MODE');
    try {
      const own = await read(bearer(service.url, phone.access_token).get('/devices').expect(200));
      expect(own).toHaveLength(1);
      await desk().get(`/users/${phone.user_id}`).expect(200);
    } finally {
      await client.query('ROLLBACK');
      await client.end();
    }
  });
});
