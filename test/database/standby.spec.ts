import request from 'supertest';
import { bearer, signIn } from '../support/sign-in.js';
import { needs } from '../support/installed.js';
import { ReplicatedPostgres } from '../support/standby.js';
import { startTestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { use } from '../support/use.js';

const WAITING = `SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
const CANCEL_WAITING = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;

/** test/infra/database.spec.ts has the rest: faults under load. */
needs({ Linux: process.platform === 'linux' }).describe('a synchronous standby that hangs', () => {
  let pair: ReplicatedPostgres;
  let provider: StubProvider;

  beforeAll(async () => {
    [pair, provider] = await Promise.all([ReplicatedPostgres.start(), StubProvider.start()]);
  });
  afterAll(async () => {
    await pair?.stop();
    await provider?.close();
  });
  const service = use(() => startTestService({ ...provider.env(), DATABASE_URL: pair.primary.url }));

  /** Returns the status while each wait for the standby is cancelled. */
  async function cancelled(asked: PromiseLike<{ status: number }>): Promise<number> {
    let status: number | undefined;
    const answer = Promise.resolve(asked).then((response) => (status = response.status));
    await until(async () => {
      await pair.primary.query(CANCEL_WAITING);
      return status !== undefined;
    });
    return answer;
  }

  it('lets no write succeed, and all of them once it is back', async () => {
    const { access_token, refresh_token } = await signIn(service.url);
    const name = { device_name: 'Laptop' };
    const device_id = '5e1f0000-0000-4000-8000-000000000001';
    await signIn(service.url, 'twice'); // a session that the other one ends
    const twice = await signIn(service.url, 'twice');
    const onDevice = await signIn(service.url, 'somebody', { device_id });
    const beside = await signIn(service.url, 'somebody');

    pair.standby.freeze();
    const refresh = request(service.url).post('/oauth2/refresh').send({ refresh_token });
    expect(await cancelled(refresh)).toBe(500);
    // The COMMIT of TypeORM's transaction waits.
    expect(
      await cancelled(bearer(service.url, onDevice.access_token).patch(`/devices/${device_id}`, name)),
    ).toBe(500);
    // The second call has nothing to write, but without its wait the sessions could come back with the standby.
    const revoke = () => request(service.url).post('/oauth2/revoke').send({ token: refresh_token });
    const others = () => bearer(service.url, twice.access_token).post('/sign-out', { scope: 'others' });
    expect([await cancelled(revoke()), await cancelled(revoke())]).toEqual([500, 500]);
    expect([await cancelled(others()), await cancelled(others())]).toEqual([500, 500]);
    await bearer(service.url, onDevice.access_token).get('/me').expect(200);
    const remove = () => bearer(service.url, beside.access_token).delete(`/devices/${device_id}`);
    expect([await cancelled(remove()), await cancelled(remove())]).toEqual([500, 500]);

    pair.standby.thaw();
    await revoke().expect(200);
    await remove().expect(404);
    await bearer(service.url, access_token).get('/me').expect(401);
  });

  it('keeps no waiting backend after the time-out of its statement', async () => {
    const { refresh_token } = await signIn(service.url);
    pair.standby.freeze();
    await request(service.url).post('/oauth2/refresh').send({ refresh_token }).expect(500);
    await until(async () => (await pair.primary.query(WAITING)).length === 0);
    pair.standby.thaw();
  });
});
