import { randomUUID } from 'node:crypto';
import { query } from './support/query.js';
import { startTestService, type TestService } from './support/service.js';
import { signIn } from './support/sign-in.js';
import { SocketClient } from './support/socket-client.js';
import { StubProvider } from './support/stub-provider.js';
import { until } from './support/until.js';

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
});
