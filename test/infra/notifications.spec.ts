import { connect as connectTcp } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from '../support/cluster.js';
import { Crowd } from '../support/crowd.js';
import { isFull, reportFault } from './faults.js';
import { needs } from '../support/installed.js';
import { hasPgBouncer, PgBouncer } from '../support/pgbouncer.js';
import { query } from '../support/database.js';
import { hasRedis, RedisServer } from '../support/redis-server.js';
import type { ServiceProcess } from '../support/service-process.js';
import { signIn } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/waiting.js';

const INSTANCES = 3;
const USERS = 300;
const PUSHES_A_USER = 100;
interface Carrier {
  readonly env: Record<string, string>;
  /** Ends the connections on which instances listen. */
  cut(): Promise<void>;
  end(): Promise<void>;
}

async function postgres(cluster: Cluster): Promise<Carrier> {
  const text = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'latchkey-hints'`;
  return {
    env: {},
    cut: async () => void (await query(cluster.database.url, text)),
    end: async () => undefined,
  };
}

async function redis(): Promise<Carrier> {
  const server = await RedisServer.start();
  return {
    env: { REDIS_URL: server.url },
    async cut() {
      const socket = connectTcp(server.port, '127.0.0.1');
      socket.write('CLIENT KILL TYPE pubsub\r\n');
      await new Promise((resolve) => socket.once('data', resolve));
      socket.destroy();
    },
    end: () => server.kill(),
  };
}

const carriers: [string, (cluster: Cluster) => Promise<Carrier>][] = [['PostgreSQL', postgres]];
if (hasRedis) carriers.push(['Redis', redis]);

/** Notifications between instances, over both transports (docs/scaling-out.md#do-you-need-redis). */
needs({ 'test:all -- infra, in full': isFull }).describe.each(carriers)('hints over %s', (name, make) => {
  let cluster: Cluster;
  let carrier: Carrier;
  let instances: ServiceProcess[];
  const start = async (): Promise<void> => void instances.push(await cluster.start(carrier.env));

  beforeAll(async () => {
    cluster = await Cluster.create();
    carrier = await make(cluster);
    instances = [];
    await Promise.all(Array.from({ length: INSTANCES }, start));
    for (const instance of instances) {
      await until(async () => !JSON.stringify(await cluster.readiness(instance)).includes('down'));
    }
  });
  afterAll(async () => {
    const output = cluster?.instances.map((instance) => instance.output()).join('');
    await cluster?.close();
    await carrier?.end();
    expect(output).not.toMatch(/uncaught|unhandled/i);
  });

  const gather = (users: number) =>
    Crowd.gather({
      instances,
      users,
      databaseUrl: cluster.database.url,
      push: (instance, body) => cluster.push(instance, body),
    });

  it(`${USERS * PUSHES_A_USER} pushes while instances are killed and connections cut: none lost, doubled or out of order`, async () => {
    const crowd = await gather(USERS);
    const end = new AbortController();
    let [kills, cuts] = [0, 0];
    const harm = (async () => {
      while (!end.signal.aborted) {
        await delay(1000);
        await carrier.cut();
        cuts++;
        await delay(1000);
        await instances.shift()!.end('SIGKILL');
        kills++;
        await start();
      }
    })();
    await crowd.push(PUSHES_A_USER);
    end.abort();
    await harm;
    await crowd.settle();
    reportFault({
      fault: `three instances with hints over ${name}: ${kills} times one killed, ${cuts} times all cut off from the hints`,
      requests: USERS * PUSHES_A_USER + crowd.failed,
      failed: crowd.failed,
      acknowledged: USERS * PUSHES_A_USER,
      lost: 0, // or the crowd would not have settled
      doubled: 0,
      notes: 'every push came to a socket once and in order',
    });
    expect(kills).toBeGreaterThan(0);
  });
});

needs({ 'test:all -- infra, in full': isFull }).describe('the listening connection', () => {
  let cluster: Cluster;
  let proxy: TcpProxy;
  let [near, far] = [] as unknown as [ServiceProcess, ServiceProcess];

  beforeAll(async () => {
    cluster = await Cluster.create();
    proxy = await TcpProxy.before(cluster.database.url);
    const aside = new URL(cluster.database.url);
    aside.port = String(proxy.port);
    near = await cluster.start();
    far = await cluster.start({ DATABASE_DIRECT_URL: aside.href });
  });
  afterAll(async () => {
    await proxy?.refuse();
    await cluster?.close();
  });

  it('hangs: one warning says so, and what was missed arrives when it is back', async () => {
    const tokens = await signIn(near.url);
    const client = await SocketClient.connect(far.url, tokens.access_token);
    const said = far.output().length;
    proxy.blackhole();
    const since = (): string => far.output().slice(said);
    await until(() => since().includes('Query read timeout'));
    for (const instance of [near, far]) {
      expect((await cluster.push(instance, { user_id: tokens.user_id, event: 'n' })).status).toBe(202);
    }
    await proxy.restore();
    await client.until(() => client.history.length === 2);
    await until(() => since().includes('arrive again'));
    expect(since().split('no messages from other instances').length - 1).toBeLessThanOrEqual(2);
    client.close();
  });

  needs({ pgbouncer: hasPgBouncer }).it(
    'leads through a pooler in transaction mode: one warning says what to set',
    async () => {
      const pooler = await PgBouncer.before(cluster.database.url, 'transaction', 5);
      const deaf = await cluster.start({ DATABASE_DIRECT_URL: pooler.url });
      await until(() => deaf.output().includes('set DATABASE_DIRECT_URL'));
      const tokens = await signIn(deaf.url);
      expect((await cluster.push(deaf, { user_id: tokens.user_id, event: 'n' })).status).toBe(202);
      await deaf.end('SIGTERM');
      await pooler.stop();
      expect(deaf.output().split('no messages from other instances')).toHaveLength(2);
    },
  );
});
