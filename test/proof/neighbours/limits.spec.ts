import { randomUUID } from 'node:crypto';
import { createDatabase, type TestDatabase } from '../../support/database.js';
import { needs } from '../../support/installed.js';
import { isFull, reportFigure } from '../../support/proof.js';
import { hasRedis, RedisServer } from '../../support/redis-server.js';
import { startServiceProcess, type ServiceProcess } from '../../support/service-process.js';
import { signIn } from '../../support/sign-in.js';
import { StubProvider } from '../../support/stub-provider.js';
import { manyAtOnce, statusOf } from './limits.js';

/** In full: the defaults (contract §2). */
const LIMITS = isFull
  ? { AUTHORIZE: 300, TOKEN: 300, REFRESH: 1200, BAD_TOKEN: 120, CONNECT: 600, WRITE: 60 }
  : { AUTHORIZE: 20, TOKEN: 20, REFRESH: 30, BAD_TOKEN: 10, CONNECT: 20, WRITE: 10 };
type Name = keyof typeof LIMITS;
/** Times the limit that is asked for; in full, at the greatest limit, within half of the limit's minute. */
const TIMES = 2;
const AT_ONCE = isFull ? 64 : 16;
const ROUNDS = isFull ? 5 : 1;
const HANDSHAKE = {
  Upgrade: 'websocket',
  Connection: 'Upgrade',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** P14: limits are exact over two instances, each a process of its own, that share a Redis. */
needs({ 'redis-server': hasRedis }).describe('of many requests of one address to two instances', () => {
  let redis: RedisServer;
  let stub: StubProvider;
  let database: TestDatabase;
  const services: ServiceProcess[] = [];

  beforeAll(async () => {
    redis = await RedisServer.start();
    [stub, database] = await Promise.all([StubProvider.start(), createDatabase()]);
    const limits = Object.entries(LIMITS).map(([name, limit]) => [`RATE_LIMIT_${name}`, String(limit)]);
    const env = {
      ...stub.env(),
      ...(Object.fromEntries(limits) as Record<string, string>),
      RATE_LIMIT: 'on',
      PUBLIC_URL: 'http://localhost:3000', // of both, so that each takes the other's tokens
      TRUST_PROXY: 'loopback',
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      LOG_LEVEL: 'info', // by which a start is known to be over
    };
    const start = async (): Promise<unknown> => services.push(await startServiceProcess(env));
    await Promise.all([start(), start()]);
  });
  afterAll(async () => {
    await Promise.all(services.map((service) => service.end('SIGTERM')));
    await stub?.close();
    await database?.drop();
    await redis?.kill();
  });

  let addresses = 0;
  const newAddress = (): string => `198.51.100.${++addresses}`;

  /** Asks both in turn, many at once. @returns how many answers had each status */
  async function ask(name: Name, from: string, call: Call): Promise<Map<number, number>> {
    const statuses = await manyAtOnce(LIMITS[name] * TIMES, AT_ONCE, (i) => {
      const { path, headers, ...rest } = call;
      const { url } = services[i % services.length]!;
      return statusOf(url, path, { ...rest, headers: { 'X-Forwarded-For': from, ...headers } });
    });
    const counts = new Map<number, number>();
    for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
    return counts;
  }

  /** @param passed the status of those that pass */
  async function expectExact(name: Name, passed: number, call: () => Call | Promise<Call>): Promise<void> {
    const asked = LIMITS[name] * TIMES * ROUNDS;
    let went = 0;
    for (let i = 0; i < ROUNDS; i++) {
      const counts = await ask(name, newAddress(), await call());
      expect([...counts].toSorted(([one], [other]) => one - other)).toEqual([
        [passed, LIMITS[name]],
        [429, LIMITS[name] * (TIMES - 1)],
      ]);
      went += counts.get(passed)!;
    }
    reportFigure({
      part: 'neighbours',
      what: `\`RATE_LIMIT_${name}\` ${LIMITS[name]}, two instances: requests of one address (user), ${ROUNDS} times ${LIMITS[name] * TIMES}; passed`,
      figure: `${asked}; ${went}`,
      wanted: String(LIMITS[name] * ROUNDS),
    });
  }

  it.each<[Name, number, Call]>([
    ['AUTHORIZE', 200, { path: '/oauth2/authorize?provider=stub' }],
    ['TOKEN', 401, { method: 'POST', path: '/oauth2/token', body: { code: 'c', state: 'ab'.repeat(32) } }],
    ['REFRESH', 401, { method: 'POST', path: '/oauth2/refresh', body: { refresh_token: 'unknown' } }],
    ['BAD_TOKEN', 401, { path: '/me', headers: { Authorization: 'Bearer e30.e30.e30' } }],
    ['CONNECT', 101, { path: '/socket.io/?EIO=4&transport=websocket', headers: HANDSHAKE }],
  ])('exactly as many pass as RATE_LIMIT_%s says', async (name, passed, call) => {
    await expectExact(name, passed, () => call);
  });

  it('of one user, exactly as many renames pass as RATE_LIMIT_WRITE says', async () => {
    await expectExact('WRITE', 200, async () => {
      const device_id = randomUUID();
      const { access_token } = await signIn(services[0]!.url, randomUUID(), { device_id });
      const headers = { Authorization: `Bearer ${access_token}` };
      return { method: 'PATCH', path: `/devices/${device_id}`, body: { device_name: 'n' }, headers };
    });
  });

  it('an address that has used up all of its limits is not kept from using a good token', async () => {
    const from = newAddress();
    const { access_token } = await signIn(services[0]!.url);
    await ask('BAD_TOKEN', from, { path: '/me', headers: { Authorization: 'Bearer e30.e30.e30' } });
    const good = { Authorization: `Bearer ${access_token}` };
    const counts = await ask('BAD_TOKEN', from, { path: '/me', headers: good });
    expect([...counts]).toEqual([[200, LIMITS.BAD_TOKEN * TIMES]]);
  });
});

interface Call {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}
