import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import request from 'supertest';
import { createDatabase, type TestDatabase, query } from '../support/database.js';
import { hasRedis, RedisServer } from '../support/redis-server.js';
import { startServiceProcess, type ServiceProcess } from '../support/service-process.js';
import { beginSignIn, signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

/**
 * `<NAME>_FILE` of secrets that are sent to others (docs/maintenance.md#rotating-secrets): rotated while the
 * service runs, without a restart. A file that is missing or invalid: current-secret.spec.ts.
 */
describe('a secret in a file', () => {
  let directory: string;
  let database: TestDatabase;
  let provider: StubProvider;
  let receiver: WebhookReceiver;
  let redis: RedisServer | undefined;
  let admin: Redis | undefined;
  let service: ServiceProcess | undefined;
  const roles: string[] = [];
  const secrets: string[] = [];

  const secret = (): string => {
    const text = randomBytes(12).toString('hex');
    secrets.push(text);
    return text;
  };
  const webhookSecret = (): string => {
    secrets.push(`whsec_${randomBytes(24).toString('base64')}`);
    return secrets.at(-1)!;
  };
  const path = (name: string): string => join(directory, name);
  /** As Kubernetes does it: the name is a symbolic link, which is swapped. */
  async function put(name: string, content: string): Promise<void> {
    const version = `${name}.${randomUUID()}`;
    await writeFile(path(version), `${content}\n`);
    await symlink(version, path(`${name}.new`));
    await rename(path(`${name}.new`), path(name));
  }
  const readiness = async (): Promise<string> => (await fetch(`${service!.url}/health/ready`)).text();
  const isReady = async (): Promise<boolean> => (await fetch(`${service!.url}/health/ready`)).ok;

  /** A role of PostgreSQL that may do all, and its URL. */
  async function makeRole(): Promise<{ name: string; url: (password: string) => string }> {
    const name = `role_${randomBytes(4).toString('hex')}`;
    roles.push(name);
    await query(database.url, `CREATE ROLE ${name} LOGIN SUPERUSER`);
    const url = new URL(database.url);
    url.username = name;
    return { name, url: (password) => (url.password = password) && url.href };
  }
  async function setPassword(name: string, password: string): Promise<void> {
    await query(database.url, `ALTER ROLE ${name} PASSWORD '${password}'`);
    await query(
      database.url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${name}'`,
    );
  }

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'latchkey-secrets-'));
    database = await createDatabase();
    provider = await StubProvider.start();
    receiver = await WebhookReceiver.start();
    if (!hasRedis) return;
    redis = await RedisServer.start();
    admin = new Redis(redis.url);
  });
  afterAll(async () => {
    await service?.end('SIGTERM');
    admin?.disconnect();
    await redis?.kill();
    await provider?.close();
    await receiver?.close();
    await query(database.url, `DROP ROLE ${roles.join(', ')}`);
    await database.close();
    await rm(directory, { recursive: true });
  });

  it('is read again for each new connection to PostgreSQL and Redis, for sign-ins and webhooks, and is in no line of the log', async () => {
    const role = await makeRole();
    const [first, forRedis, forProvider, forWebhook] = [secret(), secret(), secret(), webhookSecret()];
    await setPassword(role.name, first);
    await admin?.acl('SETUSER', 'app', 'on', `>${forRedis}`, '~*', '&*', '+@all');
    await put('database', role.url(first));
    if (redis) await put('redis', `redis://app:${forRedis}@127.0.0.1:${redis.port}`);
    await put('provider', forProvider);
    await put('webhook', forWebhook);
    receiver.secret = forWebhook;
    const { PROVIDERS_STUB_CLIENT_SECRET: _, ...stub } = provider.env();
    service = await startServiceProcess({
      ...stub,
      PROVIDERS_STUB_CLIENT_SECRET_FILE: path('provider'),
      DATABASE_URL_FILE: path('database'),
      WEBHOOK_URLS: receiver.url,
      WEBHOOK_SECRET_FILE: path('webhook'),
      WEBHOOK_EVENTS: 'sign_in',
      ...(redis && { REDIS_URL_FILE: path('redis') }),
    });
    await signIn(service.url);
    await until(() => receiver.ids.length === 1);
    const agreedUpon = webhookSecret();
    await put('webhook', agreedUpon);
    receiver.secret = agreedUpon;

    // PostgreSQL: another password, then another user.
    const second = secret();
    await setPassword(role.name, second);
    await until(async () => !(await isReady()));
    const meanwhile = await fetch(`${service.url}/oauth2/authorize?provider=stub`);
    expect([meanwhile.status, meanwhile.headers.get('retry-after')]).toEqual([500, '1']);
    await put('database', role.url(second));
    await until(isReady);
    const successor = await makeRole();
    const third = secret();
    await setPassword(successor.name, third);
    await put('database', successor.url(third));
    await setPassword(role.name, secret());
    await until(isReady);
    await signIn(service.url);
    await until(() => receiver.ids.length === 2);

    if (admin) {
      const next = secret();
      await admin.acl('SETUSER', 'app', 'resetpass', `>${next}`);
      await admin.client('KILL', 'USER', 'app');
      await until(async () => /"redis":"down"/.test(await readiness()));
      await put('redis', `redis://app:${next}@127.0.0.1:${redis!.port}`);
      await until(async () => /"redis":"up"/.test(await readiness()));
    }

    const agreed = secret();
    provider.answer = ({ body }, response) => {
      const isRight = new URLSearchParams(body).get('client_secret') === agreed;
      response.writeHead(isRight ? 200 : 400, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(isRight ? { provider_user_id: 'ada' } : { error: 'invalid_client' }));
    };
    const exchange = async (): Promise<number> => {
      const state = await beginSignIn(service!.url);
      return (await request(service!.url).post('/oauth2/token').send({ code: 'c', state })).status;
    };
    expect(await exchange()).toBe(400);
    await put('provider', agreed);
    await until(async () => (await exchange()) === 200);

    for (const one of secrets) expect(service.output()).not.toContain(one);
  });
});
