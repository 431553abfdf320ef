import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { createDatabase, query } from '../support/database.js';
import { Flood, report, Witness } from './attack.js';
import { startServiceProcess, type ServiceProcess } from '../support/service-process.js';
import { StubProvider } from '../support/stub-provider.js';

const ATTEMPTS = 400;
const WRITES = 40;
const KEPT = 50;

/** A thief of an access token renames devices at full speed: each rename is an event in the owner's history. */
describe('a flood of renames', () => {
  let provider: StubProvider;
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let service: ServiceProcess | undefined;

  beforeAll(async () => {
    provider = await StubProvider.start();
  });
  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(async () => {
    await service?.end('SIGKILL');
    await database.drop();
  });
  afterAll(() => provider.close());

  async function start(env: Record<string, string>): Promise<string> {
    service = await startServiceProcess({
      ...provider.env(),
      DATABASE_URL: database.url,
      CHANNEL_HISTORY: String(KEPT),
      ...env,
    });
    return service.url;
  }

  async function attack(url: string, { access_token, user_id }: Tokens, device: string) {
    const began = performance.now();
    const witness = new Witness(service!);
    const renames = Array.from({ length: ATTEMPTS }, (_, i) => ({
      method: 'PATCH',
      path: `/devices/${device}`,
      headers: { Authorization: `Bearer ${access_token}` },
      body: { device_name: `${i}`.repeat(30).slice(0, 128) },
    }));
    const flood = new Flood(url, 16);
    const answers = await flood.send(renames);
    flood.close();
    report(`${ATTEMPTS} renames`, flood.bytes, await witness.stop());
    const [{ rows }] = (await query<{ rows: number }>(
      database.url,
      'SELECT count(*)::int AS rows FROM channel_events WHERE user_id = $1',
      [user_id],
    )) as [{ rows: number }];
    const statuses = answers.map(({ status }) => status);
    const done = statuses.filter((status) => status === 200).length;
    const minutes = 1 + Math.ceil((performance.now() - began) / 60_000); // the count starts again each minute
    return { answers, statuses, done, rows, minutes };
  }

  it('is limited for the user, who can sign out and remove devices all the same; other users rename', async () => {
    const url = await start({
      RATE_LIMIT: 'on',
      RATE_LIMIT_WRITE: String(WRITES),
      TRUST_PROXY: 'false',
    });
    const [user, device, stolen] = [randomUUID(), randomUUID(), randomUUID()];
    const owner = await signIn(url, user, { device_id: device });
    const thief = await signIn(url, user, { device_id: stolen });
    const { answers, statuses, done, rows, minutes } = await attack(url, thief, stolen);
    // 500: on a slow machine some of one user's renames wait for the others' for too long.
    for (const status of statuses) expect([200, 429, 500]).toContain(status);
    const refused = answers.find(({ status }) => status === 429)!;
    expect(JSON.parse(refused.body)).toEqual({ error: 'slow_down', error_description: expect.any(String) });
    expect(refused.headers['retry-after']).toMatch(/^([1-9]|[1-5]\d|60)$/);
    expect(statuses.filter((status) => status !== 429).length).toBeGreaterThanOrEqual(WRITES);
    expect(done).toBeLessThanOrEqual(WRITES * minutes);
    expect(rows).toBeLessThanOrEqual(KEPT + 101);

    const other = await signIn(url, randomUUID(), { device_id: device });
    await bearer(url, other.access_token).patch(`/devices/${device}`, { device_name: 'Mine' }).expect(200);
    await bearer(url, owner.access_token).delete(`/devices/${randomUUID()}`).expect(404);
    await bearer(url, owner.access_token).delete(`/devices/${stolen}`).expect(204);
    await bearer(url, thief.access_token).get('/me').expect(401);
    await bearer(url, owner.access_token).post('/sign-out', { scope: 'others' }).expect(204);
    await request(url).post('/oauth2/revoke').send({ token: owner.refresh_token }).expect(200);
    await bearer(url, owner.access_token).get('/me').expect(401);
  });

  it('leaves no more than CHANNEL_HISTORY and a hundred events where no limit is set', async () => {
    const url = await start({ RATE_LIMIT: 'off' });
    const device = randomUUID();
    const thief = await signIn(url, randomUUID(), { device_id: device });
    const { done, rows } = await attack(url, thief, device);
    expect(done).toBeGreaterThan(KEPT + 200);
    expect(rows).toBeLessThanOrEqual(KEPT + 100);
  });
});
