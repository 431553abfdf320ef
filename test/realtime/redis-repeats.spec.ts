import { bearer, signIn } from '../support/sign-in.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { needs } from '../support/installed.js';
import { hasRedis, RedisServer } from '../support/redis-server.js';
import { startTestService, type TestService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/waiting.js';

const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
const ANSWER_OF_PUBLISH = /^:\d+\r\n/;

/** Found by recorded histories (lab/histories): a connection that is lost must not say again what it has said. */
needs({ 'redis-server': hasRedis }).describe('a connection to Redis that is lost before the answer', () => {
  let provider: StubProvider;
  let database: TestDatabase;
  let redis: RedisServer;
  let proxy: TcpProxy;
  let sender: TestService;
  let receiver: TestService;
  let client: SocketClient | undefined;

  beforeAll(async () => {
    provider = await StubProvider.start();
    database = await createDatabase();
    redis = await RedisServer.start();
    proxy = await TcpProxy.before(redis.url);
    const shared = { ...provider.env(), DATABASE_URL: database.url, SERVICE_KEYS: SERVICE_KEY };
    const env = { ...shared, PUBLIC_URL: 'http://latchkey.test' };
    sender = await startTestService({ ...env, REDIS_URL: `redis://127.0.0.1:${proxy.port}` });
    receiver = await startTestService({ ...env, REDIS_URL: redis.url });
  });
  afterAll(async () => {
    client?.close();
    await sender?.close();
    await receiver?.close();
    await proxy?.refuse();
    await redis?.kill();
    await database?.drop();
    await provider?.close();
  });

  it('brings an event that is not kept once at most (contract §7)', async () => {
    const { user_id, access_token } = await signIn(receiver.url);
    client = await SocketClient.connect(receiver.url, access_token);
    const push = async (event: string): Promise<number> =>
      (await bearer(sender.url, SERVICE_KEY).post('/push', { user_id, event, ttl: 0 })).status;
    await until(async () => (await push('before')) === 202);
    await client.next('before');

    let isLost = false;
    proxy.toClient.drops = (chunk) => {
      const drops = ANSWER_OF_PUBLISH.test(chunk.toString());
      isLost ||= drops;
      return drops;
    };
    expect(await push('once')).toBe(202);
    await until(() => isLost);
    await proxy.restore(); // which cuts that connection
    await until(async () => (await push('after')) === 202);
    await client.next('after');
    expect(client.of('once')).toHaveLength(1);
  });
});
