import { randomUUID } from 'node:crypto';
import { PresenceStore } from '../../src/channel/presence.store.js';
import { Events } from '../../src/events.js';
import { query } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { signIn } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';

describe('presence (contract §7, `online`)', () => {
  let provider: StubProvider;
  let service: TestService;

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService(provider.env());
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  const rowsOf = (table: string): Promise<object[]> => query(service.databaseUrl, `SELECT FROM ${table}`);

  it('an instance that stops removes its own rows at once, before it would count as gone', async () => {
    const other = await startTestService({ ...provider.env(), DATABASE_URL: service.databaseUrl });
    const { access_token } = await signIn(other.url, 'ada', { device_id: randomUUID() });
    const client = await SocketClient.connect(other.url, access_token);
    try {
      await until(async () => (await rowsOf('presence')).length === 1);
      expect(await rowsOf('instances')).toHaveLength(2);
      await other.close();
      expect([await rowsOf('presence'), await rowsOf('instances')]).toEqual([[], [{}]]);
    } finally {
      client.close();
    }
  });

  it('of many users who are asked for together is told apart, from shared statements', async () => {
    const [alive, dead, one, other] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    const { databaseUrl } = service;
    const none = '00000000-0000-0000-0000-000000000000'; // stands for no device
    await query(databaseUrl, 'INSERT INTO instances VALUES ($1, now())', [alive]);
    await query(databaseUrl, `INSERT INTO instances VALUES ($1, now() - interval '31 s')`, [dead]);
    const expected = new Map<string, (string | null)[]>();
    for (const devices of [[], [one], [null], [one, other], [null, other]]) {
      for (let n = 0; n < 4; n++) {
        const userId = randomUUID();
        expected.set(userId, devices);
        await query(
          databaseUrl,
          'INSERT INTO presence (user_id, device_id, instance_id) SELECT $1, unnest($2::uuid[]), $3',
          [userId, devices.map((id) => id ?? none), alive],
        );
        await query(
          databaseUrl,
          'INSERT INTO presence (user_id, device_id, instance_id) VALUES ($1, $2, $3)',
          [userId, randomUUID(), dead],
        );
      }
    }
    const shared: number[] = [];
    service.app
      .get(Events)
      .on('statement.shared', ({ name, calls }) => name === 'presence-online' && shared.push(calls));
    const store = service.app.get(PresenceStore);
    const users = [...expected.keys(), ...expected.keys()];
    const answers = await Promise.all(users.map((userId) => store.onlineDevices(userId)));
    expect(answers).toEqual(users.map((userId) => new Set(expected.get(userId))));
    expect(await store.onlineDevices(users[3]!)).toEqual(new Set());
    expect(await store.onlineDevices(users[4]!)).toEqual(new Set([one]));
    expect(Math.max(...shared)).toBeGreaterThan(1);
  });
});
