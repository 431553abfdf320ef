import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { targetOf } from '../../src/platform/database/pool/connection-target.js';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { MIGRATIONS } from '../../src/entities.js';
import { migrate } from '../../src/platform/database/start/migrate.js';
import { Removal } from '../../src/operations/removal/removal.js';
import { KeyStore } from '../../src/token/keys/key.store.js';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import {
  createDatabase,
  createEmptyDatabase,
  type TestDatabase,
  query,
  unhurried,
} from '../support/database.js';
import { needs } from '../support/installed.js';
import { hasPgBouncer, PgBouncer } from '../support/pgbouncer.js';
import { SERVICE_KEY, startTestService, type TestService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

/** DATABASE_POOLER=transaction (docs/database.md#poolers): state of a session would affect other clients. */
needs({ pgbouncer: hasPgBouncer }).describe('behind PgBouncer in transaction mode', () => {
  let database: TestDatabase;
  let pooler: PgBouncer;
  let service: TestService | undefined;

  const provider = use(() => StubProvider.start());
  afterEach(async () => {
    await service?.close();
    service = undefined;
    await pooler?.stop();
    await database?.close();
  });

  it('everything works, for many at once on two connections', async () => {
    database = await createDatabase();
    pooler = await PgBouncer.before(
      database.url,
      'transaction',
      2,
      'ignore_startup_parameters = statement_timeout',
    );
    service = await startTestService({
      ...provider.env(),
      DATABASE_URL: unhurried(pooler.url),
      DATABASE_DIRECT_URL: database.url,
      DATABASE_POOLER: 'transaction',
      SERVICE_KEYS: SERVICE_KEY,
    });
    const { url, app } = service;
    await Promise.all(Array.from({ length: 6 }, () => person(url)));
    await app.get(KeyStore).rotate();
    await app.get(Removal).run();
    await person(url);
    expect(service.log.filter((line) => /"level":"(?:error|fatal)"/.test(line))).toEqual([]);
  });

  it('migrates, also without a way around it, and leaves its sessions as they were', async () => {
    database = await createEmptyDatabase();
    pooler = await PgBouncer.before(database.url, 'transaction', 2);
    const pooled = targetOf(() => pooler.url, 'transaction');
    const signal = new AbortController().signal;
    const retries = { timeoutMs: 10_000, signal, log: () => undefined };
    await migrate({ ...dataSourceOptions(pooled, 1), migrations: MIGRATIONS }, retries);
    await migrate({ ...dataSourceOptions(database.url, 1), migrations: MIGRATIONS }, retries); // no lock stays with a session of the pooler
    const left = `SELECT name FROM pg_settings, pg_sleep(0.1) WHERE name LIKE '%timeout' AND source = 'session'`;
    expect(await Promise.all([1, 2].map(() => query(pooler.url, left)))).toEqual([[], []]);
  });
});

/** One user who calls every endpoint. */
async function person(url: string): Promise<void> {
  const [device_id, user] = [randomUUID(), randomUUID()];
  const first = await signIn(url, user, { device_id, device_name: 'Laptop' });
  const { user_id, refresh_token } = first;
  const { body } = await request(url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
  const { access_token } = body as Tokens;
  const push = (event: string) => bearer(url, SERVICE_KEY).post('/push', { user_id, event }).expect(202);
  await push('missed');
  const socket = await SocketClient.connect(url, access_token, { offset: 1 });
  await push('live');
  await socket.next('missed');
  await socket.next('live');
  await signIn(url, user, { device_id: randomUUID(), device_name: 'Phone' });
  const me = bearer(url, access_token);
  await me.get('/me').expect(200);
  const { body: list } = await me.get('/devices').expect(200);
  expect((list as { devices: unknown[] }).devices).toHaveLength(2);
  await me.patch(`/devices/${device_id}`, { device_name: 'Old laptop' }).expect(200);
  await me.post('/sign-out', { scope: 'others' }).expect(204);
  await bearer(url, SERVICE_KEY).post('/oauth2/introspect', { token: access_token }).expect(200);
  await me.delete(`/devices/${device_id}`).expect(204);
  await request(url).post('/oauth2/refresh').send({ refresh_token }).expect(401);
  socket.close();
}
