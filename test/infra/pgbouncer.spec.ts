import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { bearer, claimsOf, signIn } from '../support/sign-in.js';
import { Cluster } from '../support/cluster.js';
import { SERVICE_KEY } from '../support/service-process.js';
import { createDatabase, query } from '../support/database.js';
import { FaultLoad } from './fault-load.js';
import { isFull } from './faults.js';
import { needs } from '../support/installed.js';
import { keysCommand, spawnService } from '../support/service-process.js';
import { PgBouncer } from '../support/pgbouncer.js';

const PEOPLE = 16;
const SECONDS = 10;

// A pooler, also in session mode, rejects pg's startup parameters unless it is set to ignore them.
const IGNORED = 'ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout';

needs({ 'test:all -- infra, in full': isFull }).describe('two instances under load behind PgBouncer', () => {
  let cluster: Cluster;
  let pooler: PgBouncer;
  beforeEach(async () => {
    cluster = await Cluster.create();
  });
  afterEach(async () => {
    await cluster.close();
    await pooler?.stop();
  });

  it.each([
    ['transaction', 2, 'transaction', []],
    ['transaction', 5, 'transaction', []],
    ['session', 40, 'transaction', []],
    ['session', 40, 'session', [IGNORED]],
  ] as const)('in %s mode with %i connections, DATABASE_POOLER=%s', async (mode, size, setting, settings) => {
    pooler = await PgBouncer.before(cluster.database.url, mode, size, ...settings);
    const env = {
      DATABASE_URL: pooler.url,
      DATABASE_DIRECT_URL: cluster.database.url,
      DATABASE_POOLER: setting,
    };
    const instances = await Promise.all([cluster.start(env), cluster.start(env)]);
    const load = await FaultLoad.start(
      instances.map(({ url }) => url),
      PEOPLE,
    );
    try {
      const others = await meanwhile(instances[0].url, cluster, env);
      await load.finish(
        `PgBouncer in ${mode} mode with ${size} connections, \`DATABASE_POOLER=${setting}\``,
        `beside them ${others} rounds of all other calls, with a key rotation`,
      );
      expect(load.unexcused()).toEqual([]);
    } finally {
      await load.close();
    }
  });
});

needs({ 'test:all -- infra, in full': isFull }).it(
  'a pooler that refuses what DATABASE_POOLER=session needs stops the start at once',
  async () => {
    const database = await createDatabase();
    const pooler = await PgBouncer.before(database.url, 'session', 5);
    try {
      const service = await spawnService({ DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: database.url });
      expect(await service.ended).toBe(1);
      expect(service.output()).toMatch(
        /^the database cannot be used: unsupported .*DATABASE_POOLER=transaction/m,
      );
      expect(service.output()).not.toContain('waiting for');
    } finally {
      await pooler.stop();
      await database.close();
    }
  },
);

/** What happens less often: devices, sign-outs, a new key, removal. @returns how many rounds of it there were */
async function meanwhile(url: string, cluster: Cluster, env: Record<string, string>): Promise<number> {
  const end = performance.now() + SECONDS * 1000;
  const rotation = await keysCommand(env, 'rotate');
  expect(rotation).toMatchObject({ code: 0, stderr: '' });
  let rounds = 0;
  while (performance.now() < end) {
    const { access_token } = await signIn(url, randomUUID(), { device_id: randomUUID() });
    const me = bearer(url, access_token);
    await me.get('/me').expect(200);
    await me.get('/devices').expect(200);
    await bearer(url, SERVICE_KEY).post('/oauth2/introspect', { token: access_token }).expect(200);
    const { jti } = claimsOf(access_token);
    await query(cluster.database.url, 'UPDATE access_tokens SET expires_at = now() WHERE jti = $1', [jti]);
    await me.post('/sign-out', { scope: 'all' }).expect(204);
    rounds++;
    await delay(20);
  }
  return rounds;
}
