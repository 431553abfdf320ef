import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import request from 'supertest';
import { AppModule } from '../../src/app.module.js';
import { Events } from '../../src/platform/events.js';
import { RateLimitModule } from '../../src/platform/rate-limit/rate-limit.module.js';
import { RedisConnection } from '../../src/platform/redis/redis-connection.js';
import { RedisModule } from '../../src/platform/redis/redis.module.js';
import { needs } from '../support/installed.js';
import { until, watchLateness } from '../support/waiting.js';
import { hasRedis, RedisServer } from '../support/redis-server.js';
import { startTestService, type TestService } from '../support/service.js';
import { signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const LIMITS = {
  RATE_LIMIT: 'on',
  RATE_LIMIT_AUTHORIZE: '5',
  RATE_LIMIT_TOKEN: '4',
  RATE_LIMIT_REFRESH: '3',
  RATE_LIMIT_BAD_TOKEN: '2',
};
const BEHIND_PROXY = { ...LIMITS, TRUST_PROXY: 'loopback' };
const SERVICE_KEY = 'a service key of thirty-two characters'.replaceAll(' ', '-');

const stub = use(() => StubProvider.start());
const service = use(() => startTestService({ ...BEHIND_PROXY, ...stub.env(), SERVICE_KEYS: SERVICE_KEY }));

let addresses = 0;
/** An address for which nothing has been counted yet. */
function newAddress(): string {
  addresses++;
  return `192.0.2.${addresses}`;
}

type Call = (url: string) => request.Test;
const authorize: Call = (url) => request(url).get('/oauth2/authorize').query({ provider: 'stub' });
const token: Call = (url) => request(url).post('/oauth2/token').send({});
const refreshAtToken: Call = (url) =>
  request(url).post('/oauth2/token').send({ grant_type: 'refresh_token', refresh_token: 'unknown' });
const refresh: Call = (url) => request(url).post('/oauth2/refresh').send({ refresh_token: 'unknown' });

async function statuses(times: number, call: () => request.Test): Promise<number[]> {
  const seen: number[] = [];
  for (let i = 0; i < times; i++) seen.push((await call()).status);
  return seen;
}

function expectSlowDown(response: request.Response): void {
  expect([response.status, response.body]).toEqual([
    429,
    { error: 'slow_down', error_description: expect.any(String) },
  ]);
  expect(response.headers['retry-after']).toMatch(/^([1-9]|[1-5]\d|60)$/);
  expect(response.headers['cache-control']).toBe('no-store');
}

describe('limits per minute and address', () => {
  it.each([
    ['authorize', authorize, 5, 200],
    ['token', token, 4, 400],
    ['refresh', refresh, 3, 401],
    ['refresh at the token endpoint', refreshAtToken, 3, 401],
  ] as const)('%s: whatever the answer, and for that address alone', async (_name, call, limit, status) => {
    const [from, other] = [newAddress(), newAddress()];
    const answered = await statuses(limit, () => call(service.url).set('X-Forwarded-For', from));
    expect(answered).toEqual(Array(limit).fill(status));
    expectSlowDown(await call(service.url).set('X-Forwarded-For', from));
    await call(service.url).set('X-Forwarded-For', other).expect(status);
  });

  it('refreshes at both endpoints have one count; sign-ins have another', async () => {
    const from = newAddress();
    await statuses(2, () => refresh(service.url).set('X-Forwarded-For', from));
    await refreshAtToken(service.url).set('X-Forwarded-For', from).expect(401);
    expectSlowDown(await refreshAtToken(service.url).set('X-Forwarded-For', from));
    await token(service.url).set('X-Forwarded-For', from).expect(400);
  });

  it.each(['/OAuth2/refresh', '/oauth2/refresh/', '//oauth2/refresh', '/oauth2/%72efresh'])(
    'no other spelling of a path leads past a limit: %s',
    async (path) => {
      const { status, body } = await request(service.url).post(path).send({ refresh_token: 'unknown' });
      expect([status, body]).toEqual([404, { error: 'not_found', error_description: expect.any(String) }]);
    },
  );

  it('without a trusted proxy, a client cannot choose its address', async () => {
    const direct = await startTestService({ ...LIMITS, ...stub.env() });
    try {
      const answered = await statuses(6, () => authorize(direct.url).set('X-Forwarded-For', newAddress()));
      expect(answered).toEqual([200, 200, 200, 200, 200, 429]);
    } finally {
      await direct.close();
    }
  });

  it('off, nothing counts', async () => {
    const off = await startTestService({ ...BEHIND_PROXY, ...stub.env(), RATE_LIMIT: 'off' });
    try {
      expect(await statuses(9, () => authorize(off.url))).toEqual(Array(9).fill(200));
      expect(await statuses(5, () => bearer('wrong', off.url))).toEqual(Array(5).fill(401));
    } finally {
      await off.close();
    }
  });
});

describe('a limit that is asked for but not provided', () => {
  /** Resolves all dependencies without creating anything: no database is needed. */
  const preview = (module: DynamicModule): Promise<unknown> =>
    NestFactory.createApplicationContext(module, { preview: true, abortOnError: false, logger: false });

  it.each(['on', 'off'])('stops the start: RATE_LIMIT is %s', async (rateLimit) => {
    const complete = await AppModule.forRoot({ ...service.settings, rateLimit: rateLimit === 'on' });
    await preview(complete);
    const imports = complete.imports!.filter((one) => one !== RateLimitModule);
    await expect(preview({ ...complete, imports })).rejects.toThrow(
      /RateLimits at index \[\d\] is available/,
    );
  });

  it('stops the start where Redis is forgotten, through which instances count together', async () => {
    const complete = await AppModule.forRoot(service.settings);
    const imports = complete.imports!.filter((one) => one !== RedisModule);
    await expect(preview({ ...complete, imports })).rejects.toThrow(/RedisConnection at index/);
  });
});

function bearer(value: string, url = service.url): request.Test {
  return request(url).get('/me').set('Authorization', `Bearer ${value}`);
}

describe('refused bearer tokens (RATE_LIMIT_BAD_TOKEN)', () => {
  it('get slow_down beyond the limit, while a valid token is accepted', async () => {
    const { access_token: good } = await signIn(service.url);
    const from = newAddress();
    const me = (value: string): request.Test => bearer(value).set('X-Forwarded-For', from);
    await statuses(5, () => me(good).expect(200)); // counts nothing
    expect(await statuses(2, () => me('wrong'))).toEqual([401, 401]);
    expectSlowDown(await me('wrong'));
    await me(good).expect(200);
    await bearer('wrong').set('X-Forwarded-For', newAddress()).expect(401);
  });

  it.each([
    ['a header without a bearer token', 'Basic bGF0Y2g6a2V5', '/me', 'get'],
    ['a wrong service key', 'Bearer a-wrong-service-key-of-32-characters', '/oauth2/introspect', 'post'],
    ['a bad token at POST /sign-out', 'Bearer wrong', '/sign-out', 'post'],
    ['a bad token at DELETE /devices/…', 'Bearer wrong', `/devices/${randomUUID()}`, 'delete'],
  ] as const)('%s counts', async (_name, authorization, path, method) => {
    const headers = { Authorization: authorization, 'X-Forwarded-For': newAddress() };
    const answered = await statuses(3, () => request(service.url)[method](path).set(headers));
    expect(answered).toEqual([401, 401, 429]);
  });

  describe('revocations, sign-outs, removals and renames', () => {
    let url: string; // of a service that allows more sign-ins
    const limits = { RATE_LIMIT: 'on', RATE_LIMIT_BAD_TOKEN: '2', RATE_LIMIT_WRITE: '2' };
    const own = use(() => startTestService({ ...limits, ...stub.env(), TRUST_PROXY: 'loopback' }));
    beforeAll(() => {
      url = own.url;
    });

    const revoke = (value: string, from: string): request.Test =>
      request(url).post('/oauth2/revoke').set('X-Forwarded-For', from).send({ token: value });

    it('a revocation of an unknown token counts, but gets the usual answer', async () => {
      const from = newAddress();
      const { refresh_token: good } = await signIn(url);
      expect((await revoke('unknown', from).expect(200)).body).toEqual({});
      await revoke(`${good}A`, from).expect(200);
      expectSlowDown(await revoke('unknown', from));
      expectSlowDown(await bearer('wrong', url).set('X-Forwarded-For', from)); // one count for all
      await revoke('unknown', newAddress()).expect(200);
    });

    it('a valid token is never rejected, whatever its address has done', async () => {
      const from = newAddress();
      await statuses(4, () => revoke('unknown', from));
      const device_id = randomUUID();
      const as = async (
        call: (auth: Record<string, string>, device: string) => request.Test,
      ): Promise<number> => {
        const { access_token } = await signIn(url, 'ada', { device_id });
        return (await call({ Authorization: `Bearer ${access_token}`, 'X-Forwarded-For': from }, device_id))
          .status;
      };
      for (const kind of ['refresh_token', 'access_token'] as const) {
        const tokens = await signIn(url);
        await revoke(tokens[kind], from).expect(200);
        await bearer(tokens.access_token, url).expect(401);
      }
      expect(await as((auth) => request(url).post('/sign-out').set(auth))).toBe(204);
      expect(await as((auth, id) => request(url).delete(`/devices/${id}`).set(auth))).toBe(204);
      expectSlowDown(await revoke('unknown', from));
    });

    // Each rename is an event in the user's history (RATE_LIMIT_WRITE).
    it('renames count for the user, from any session and address, and for nothing else', async () => {
      const device_id = randomUUID();
      const as = async (user: string, call: request.Test): Promise<request.Response> => {
        const { access_token } = await signIn(url, user, { device_id });
        return call.set({ Authorization: `Bearer ${access_token}`, 'X-Forwarded-For': newAddress() });
      };
      const rename = (user: string) =>
        as(user, request(url).patch(`/devices/${device_id}`).send({ device_name: 'a name' }));
      expect([(await rename('ada')).status, (await rename('ada')).status]).toEqual([200, 200]);
      expectSlowDown(await rename('ada'));
      expect((await rename('grace')).status).toBe(200);
      const others = await as('ada', request(url).post('/sign-out').send({ scope: 'others' }));
      const removal = await as('ada', request(url).delete(`/devices/${device_id}`));
      expect([others.status, removal.status]).toEqual([204, 204]);
    });
  });

  it('do not include requests without a token, with a token that lacks the right, or with a service key', async () => {
    const { access_token: good } = await signIn(service.url);
    const from = { 'X-Forwarded-For': newAddress() };
    const introspect = (key: string): request.Test =>
      request(service.url)
        .post('/oauth2/introspect')
        .set({ ...from, Authorization: `Bearer ${key}` })
        .send({ token: good });
    expect(await statuses(4, () => request(service.url).get('/me').set(from))).toEqual(Array(4).fill(401));
    expect(await statuses(3, () => introspect(good))).toEqual([403, 403, 403]);
    expect(await statuses(3, () => introspect(SERVICE_KEY))).toEqual([200, 200, 200]);
  });
});

needs({ 'redis-server': hasRedis }).describe('with Redis', () => {
  const N = 12;
  const ENV = { ...BEHIND_PROXY, RATE_LIMIT_AUTHORIZE: String(N) };
  let redis: RedisServer;
  let instances: TestService[] = [];

  beforeAll(async () => {
    redis = await RedisServer.start();
    const env = { ...ENV, ...stub.env(), REDIS_URL: redis.url };
    const first = await startTestService(env);
    instances = [first, await startTestService({ ...env, DATABASE_URL: first.databaseUrl })];
    await Promise.all(instances.map((instance) => untilRedisIs('up', instance)));
  });
  afterAll(async () => {
    redis?.thaw();
    for (const instance of instances.toReversed()) await instance.close();
    await redis?.kill();
  });

  async function untilRedisIs(state: 'up' | 'down', instance: TestService): Promise<void> {
    for (;;) {
      const { status, body } = await request(instance.url).get('/health/ready');
      expect(status).toBe(200); // the service works without it
      if ((body as { redis: string }).redis === state) return;
      await delay(50);
    }
  }

  /** Sends so many requests at once, evenly over both instances; returns how many got each status. */
  async function storm(requests: number, from: string): Promise<Record<number, number>> {
    const calls = Array.from({ length: requests }, (_, i) =>
      authorize(instances[i % 2]!.url).set('X-Forwarded-For', from),
    );
    const counts: Record<number, number> = {};
    for (const { status } of await Promise.all(calls)) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  it('two instances count together, exactly, and emit one event', async () => {
    const seen: unknown[] = [];
    for (const { app } of instances) app.get(Events).on('rate_limit.exceeded', (e) => void seen.push(e));
    const from = newAddress();
    expect(await storm(2 * N, from)).toEqual({ 200: N, 429: N });
    for (const { url } of instances) {
      expectSlowDown(await authorize(url).set('X-Forwarded-For', from));
    }
    expect(seen).toEqual([{ limit: 'authorize', address: from }]);
  });

  const logged = (text: string): number =>
    instances.flatMap(({ log }) => log).filter((line) => line.includes(text)).length;

  it('full: each instance counts alone, and logs it once', async () => {
    const { client } = instances[0]!.app.get(RedisConnection);
    await client.config('SET', 'maxmemory', '1');
    expect(await storm(4 * N, newAddress())).toEqual({ 200: 2 * N, 429: 2 * N });
    // Both instances log to one place here: of equal lines in a second, the second one is only counted.
    expect([1, 2]).toContain(logged('each instance counts alone'));
    await client.config('SET', 'maxmemory', '0');
    expect(await storm(2 * N, newAddress())).toEqual({ 200: N, 429: N });
  });

  it('killed: each instance counts alone until it is back, and logs it once', async () => {
    // A busy machine may have lost the connection before.
    const [away, back] = [logged('Redis is away'), logged('Redis is back')];
    await redis.kill();
    expect(await storm(4 * N, newAddress())).toEqual({ 200: 2 * N, 429: 2 * N });
    await Promise.all(instances.map((instance) => untilRedisIs('down', instance)));
    await until(() => logged('Redis is away') === away + 2); // by the first attempt to connect again

    await redis.start();
    await Promise.all(instances.map((instance) => untilRedisIs('up', instance)));
    expect(logged('Redis is back')).toBe(back + 2);
    expect(await storm(2 * N, newAddress())).toEqual({ 200: N, 429: N });
  });

  it('frozen: requests go on within a second', async () => {
    redis.freeze();
    const [began, lateness] = [performance.now(), watchLateness()];
    expect(await storm(2, newAddress())).toEqual({ 200: 2 });
    expect(performance.now() - began).toBeLessThan(1000 + 10 * lateness());
    await Promise.all(instances.map((instance) => untilRedisIs('down', instance)));
    const [later, latenessThen] = [performance.now(), watchLateness()];
    for (let i = 0; i < 5; i++) expect(await storm(2, newAddress())).toEqual({ 200: 2 });
    expect(performance.now() - later).toBeLessThan(1000 + 10 * latenessThen()); // the connection is known to be dead
    redis.thaw();
    await Promise.all(instances.map((instance) => untilRedisIs('up', instance)));
  });

  it('unreachable when the service starts: the service starts', async () => {
    const env = { ...ENV, ...stub.env(), REDIS_URL: 'redis://127.0.0.1:1' };
    const alone = await startTestService({ ...env, DATABASE_URL: instances[0]!.databaseUrl });
    try {
      await untilRedisIs('down', alone);
      await authorize(alone.url).expect(200);
    } finally {
      await alone.close();
    }
  });
});
