import { setTimeout as delay } from 'node:timers/promises';
import { isFull } from '../support/faults.js';
import { Cluster } from '../support/cluster.js';
import { freePort } from '../support/free-port.js';
import { needs } from '../support/installed.js';
import { hasRedis, RedisServer, SentinelServer } from '../support/redis-server.js';
import type { ServiceProcess } from '../support/service-process.js';
import { signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { until } from '../support/until.js';

const USERS = 8;
const PUSHES_BEFORE = 20;
const PUSHES = 60;
const PASSWORD = 'of/redis@itself';
const SENTINEL_PASSWORD = 'of-the-sentinels';

needs({ 'redis-server': hasRedis }).describe('Redis by its Sentinels', () => {
  let cluster: Cluster;
  const ended: { kill(): Promise<void> }[] = [];
  const sockets: SocketClient[] = [];

  beforeAll(async () => {
    cluster = await Cluster.create();
  });
  afterEach(async () => {
    sockets.splice(0).forEach((socket) => socket.close());
    const instances = cluster.instances.splice(0);
    await Promise.all(instances.map((instance) => instance.end('SIGKILL')));
    await Promise.all(ended.splice(0).map((server) => server.kill()));
    const output = instances.map((instance) => instance.output()).join('');
    for (const never of [PASSWORD, encodeURIComponent(PASSWORD), SENTINEL_PASSWORD, 'nhandled']) {
      expect(output).not.toContain(never);
    }
  });
  afterAll(() => cluster?.close());

  function end<Server extends { kill(): Promise<void> }>(server: Server): Server {
    ended.push(server);
    return server;
  }
  /** @returns the master, and the Sentinels' addresses: the first of them is gone */
  async function start(): Promise<{ master: RedisServer; addresses: string }> {
    const auth = ['--requirepass', PASSWORD, '--masterauth', PASSWORD];
    const master = end(await RedisServer.start(...auth));
    end(await RedisServer.replicaOf(master, ...auth));
    const settings = [`sentinel auth-pass <master> ${PASSWORD}`, `requirepass ${SENTINEL_PASSWORD}`];
    const sentinel = end(await SentinelServer.of(master, 1, settings));
    return { master, addresses: `127.0.0.1:${await freePort()},127.0.0.1:${sentinel.port}` };
  }
  const urlOf = (addresses: string, name = SentinelServer.master): string =>
    `redis+sentinel://:${encodeURIComponent(PASSWORD)}@${addresses}/${name}?sentinel_password=${SENTINEL_PASSWORD}`;
  async function redisOf(instance: ServiceProcess): Promise<string> {
    return ((await cluster.readiness(instance))[1] as { redis: string }).redis;
  }
  async function connect({ url }: ServiceProcess, { access_token }: Tokens): Promise<SocketClient> {
    const socket = await SocketClient.connect(url, access_token);
    sockets.push(socket);
    return socket;
  }

  it.each([
    ['killed', (master: RedisServer) => master.kill()],
    ...(isFull ? [['frozen', async (master: RedisServer) => master.freeze()] as const] : []),
  ] as const)(
    'the master is %s under load: pushes go on after it, none is lost, doubled, or out of order',
    async (_name, hurt) => {
      const { master, addresses } = await start();
      const REDIS_URL = urlOf(addresses);
      const instances = await Promise.all([cluster.start({ REDIS_URL }), cluster.start({ REDIS_URL })]);
      for (const instance of instances) await until(async () => (await redisOf(instance)) === 'up');
      const users = await Promise.all(Array.from({ length: USERS }, () => signIn(instances[0].url)));
      const clients = await Promise.all(
        users.map(async (user) => Promise.all(instances.map((instance) => connect(instance, user)))),
      );

      let failed = 0;
      let last = performance.now();
      let longestGap = 0;
      async function push(wanted: number, { user_id }: Tokens, acknowledged: number[]): Promise<void> {
        while (acknowledged.length < wanted) {
          const data = acknowledged.length;
          const { status, body } = await cluster.push(instances[data % 2]!, { user_id, event: 'n', data });
          if (status !== 202) {
            failed++;
            await delay(50);
            continue;
          }
          acknowledged.push(body.offset!);
          longestGap = Math.max(longestGap, performance.now() - last);
          last = performance.now();
        }
      }
      const acknowledged = users.map((): number[] => []);
      await Promise.all(users.map((user, i) => push(PUSHES_BEFORE, user, acknowledged[i]!)));
      await hurt(master);
      await Promise.all(users.map((user, i) => push(PUSHES, user, acknowledged[i]!)));

      expect(failed).toBeGreaterThan(0);
      for (const { user_id } of users) await cluster.push(instances[0], { user_id, event: 'end' });
      await Promise.all(clients.flat().map((client) => client.next('end')));
      for (const { history } of clients.flat()) {
        expect(history.map(({ data }) => data)).toEqual([...Array(PUSHES).keys(), null]);
      }
      for (const [i, offsets] of acknowledged.entries()) {
        for (const { history } of clients[i]!) {
          expect(history.map(({ meta }) => meta!.offset)).toEqual([...offsets, PUSHES + 1]);
        }
      }
      process.stdout.write(
        `  failover: ${failed} of ${failed + USERS * PUSHES} pushes refused, longest gap ${longestGap.toFixed(0)} ms\n`,
      );
    },
    60_000,
  );

  it.each([
    [
      'Sentinels that know no such master',
      (addresses: string) => urlOf(addresses, 'other'),
      'No such master with that name',
    ],
    [
      'a Redis in the place of a Sentinel',
      (_: string, { port }: RedisServer) => urlOf(`127.0.0.1:${port}`),
      'WRONGPASS',
    ],
  ])('%s: one line says so', async (_name, url, words) => {
    const { master, addresses } = await start();
    const instance = await cluster.start({ REDIS_URL: url(addresses, master) });
    await until(() => instance.output().includes('Redis is away'));
    expect(await redisOf(instance)).toBe('down');
    await delay(500);
    const lines = instance.output().split('\n');
    expect(lines.filter((line) => line.includes('RedisConnection'))).toEqual([
      expect.stringContaining(words),
    ]);
  });
});
