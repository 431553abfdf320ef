import { randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import request from 'supertest';
import { startTemporaryPostgres } from '../../packages/embedded-postgres/src/temporary-postgres.js';
import { answerTogether, CrowdOfSignIns, halfSignIns, manyAtOnce } from '../support/crowd.js';
import { createDatabase, query } from '../support/database.js';
import { startServiceProcess, type ServiceProcess } from '../support/service-process.js';
import { beginSignIn, signIn, type Tokens } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { use } from '../support/use.js';

const IN_FLIGHT = 20;
/** For requests in flight after SIGTERM (docs/production.md#behind-a-proxy). */
const STOP_MS = 10_000;

/** Kills and stops a process of the compiled service (security.md, P4 and P11). */
describe('the end of a process', () => {
  let env: Record<string, string>;
  let service: ServiceProcess | undefined;

  const provider = use(() => StubProvider.start());
  const database = use(() => createDatabase());
  beforeAll(() => {
    env = { ...provider.env(), DATABASE_URL: database.url };
  });
  afterEach(async () => {
    provider.reset();
    await service?.end('SIGKILL');
  });

  const PEOPLE = 32;

  async function expectStored(accessTokens: readonly string[], databaseUrl: string): Promise<void> {
    const found = 'SELECT count(*)::int AS n FROM access_tokens WHERE token = ANY($1)';
    expect(await query(databaseUrl, found, [accessTokens])).toEqual([{ n: accessTokens.length }]);
  }

  async function expectAll(acknowledged: readonly Tokens[], databaseUrl: string): Promise<void> {
    const tokens = acknowledged.map(({ access_token }) => access_token);
    await expectStored(tokens, databaseUrl);
    for (const { refresh_token } of acknowledged.slice(-PEOPLE)) {
      await request(service!.url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
    }
    expect(await halfSignIns(databaseUrl)).toEqual([]);
  }

  it('SIGKILL under refreshes and sign-ins: each acknowledged one is stored, and none partially', async () => {
    const acknowledged: Tokens[] = [];
    const refreshed: string[] = [];
    service = await startServiceProcess(env);
    const { url } = service;
    const first = await signIn(url, 'somebody', { device_id: randomUUID() });
    acknowledged.push(first);
    const work = Array.from({ length: 16 }, async (_, i) => {
      for (;;) {
        if (i % 2) acknowledged.push(await signIn(url, 'somebody', { device_id: randomUUID() }));
        else {
          const { body } = await request(url).post('/oauth2/refresh').send(first).expect(200);
          refreshed.push((body as Tokens).access_token);
        }
      }
    });
    await until(() => refreshed.length >= 30 && acknowledged.length > 10);
    await service.end('SIGKILL');
    await Promise.allSettled(work);

    service = await startServiceProcess(env);
    await expectStored(refreshed, database.url);
    await expectAll(acknowledged, database.url);
  });

  it('SIGKILL of PostgreSQL under batched sign-ins: it recovers, and has each acknowledged one', async () => {
    const server = await startTemporaryPostgres({ dataDir: mkdtempSync(join(tmpdir(), 'latchkey-crash-')) });
    try {
      const url = `${server.url}postgres`;
      const acknowledged: Tokens[] = [];
      answerTogether(provider);
      service = await startServiceProcess({ ...env, DATABASE_URL: url });
      const crowd = new CrowdOfSignIns(service.url, PEOPLE, acknowledged);
      const goal = acknowledged.length + 3 * PEOPLE;
      await until(() => acknowledged.length >= goal);
      // SIGKILL of one backend ends all of them; shared memory is lost, as in a crash of the machine.
      const [backend] = await query(
        url,
        `SELECT pid FROM pg_stat_activity WHERE application_name = 'latchkey' LIMIT 1`,
      );
      process.kill(backend!['pid'] as number, 'SIGKILL');
      await crowd.stop();
      await until(() => query(url, 'SELECT 1').then(Boolean, () => false));
      await until(async () => (await fetch(`${service!.url}/health/ready`)).ok);
      await expectAll(acknowledged, url);
    } finally {
      await service?.end('SIGKILL');
      await server.stop();
    }
  });

  it(`SIGTERM lets ${IN_FLIGHT} exchanges in flight end, then exits with 0 (P11)`, async () => {
    service = await startServiceProcess(env);
    const { url } = service;
    const states = await manyAtOnce(IN_FLIGHT, 20, () => beginSignIn(url));
    const answers: (() => void)[] = [];
    const answer = provider.answer;
    provider.answer = (...call) => answers.push(() => answer(...call));
    const exchanges = states.map(async (state, i) =>
      request(url)
        .post('/oauth2/token')
        .send({ code: `in-flight-${i}`, state }),
    );
    await until(() => answers.length === IN_FLIGHT);
    provider.reset();

    const began = performance.now();
    const ended = service.end('SIGTERM');
    await until(() => service!.output().includes('SIGTERM: stopping'));
    service.child.kill('SIGTERM'); // a second one changes nothing
    for (const send of answers) send();
    const statuses = (await Promise.all(exchanges)).map(({ status }) => status);
    expect(statuses).toEqual(Array<number>(IN_FLIGHT).fill(200));
    expect(await ended).toBe(0);
    expect(performance.now() - began).toBeLessThan(STOP_MS);
  });

  it('after SIGINT, is not ready during SHUTDOWN_DELAY, but still serves, and closes connections', async () => {
    service = await startServiceProcess({ ...env, SHUTDOWN_DELAY: '1' });
    const { url } = service;
    await request(url).get('/health/ready').expect(200);
    const { refresh_token } = await signIn(url);
    const ended = service.end('SIGINT');
    await until(() => service!.output().includes('SIGINT: stopping'));
    const { body } = await request(url).get('/health/ready').expect(503);
    expect(body).toMatchObject({ status: 'stopping' });
    await request(url)
      .post('/oauth2/refresh')
      .send({ refresh_token })
      .expect(200)
      .expect('Connection', 'close');
    expect(await ended).toBe(0);
  });
});
