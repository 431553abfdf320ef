import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Redis } from 'ioredis';
import type { Client } from 'pg';
import { freePort } from '../../packages/embedded-postgres/src/address.js';
import { ask, startChild } from './child.js';
import { Cleanup } from './cleanup.js';
import { refreshes, startStubProvider } from './compare.js';
import { cpuTime, cpuTimeOfFamily } from './cpu-time.js';
import { startDatabase, type Database } from './database.js';
import { fill, fillUsers } from './fill.js';
import { startLatchkey } from './latchkey-target.js';
import type { LoadOrder } from './load/generator.js';
import type { LoadResult } from './load/run.js';
import type { SocketsOrder, SocketsResult } from './load/sockets.js';
import type { Options } from './options.js';
import { medianOf, print, printHeading } from './report.js';
import { signInUsers, SOCKETS_A_USER } from './sockets.js';

/** For each instance. */
const WARM_UP_MS = 3000;
const CONNECTIONS = 64;
const USERS = 100;
/** `ttl` of a push, in seconds. */
const NOT_STORED = 0;
const STORED = 600;

/** Runs requests or pushes, and counts them. */
type Work = (milliseconds: number) => Promise<Pick<LoadResult, 'count' | 'seconds'>>;

interface Servers {
  readonly database: Database;
  readonly redis: { readonly url: string; readonly pid: number } | undefined;
  readonly providerUrl: string;
}

interface Load {
  readonly requests: (order: LoadOrder) => Promise<LoadResult>;
  readonly sockets: (order: SocketsOrder) => Promise<SocketsResult>;
}

/** Several instances on one database, without and with Redis: CPU time of all their processes. */
export async function compareInstances(options: Options, cleanup: Cleanup): Promise<void> {
  // The last core is for the load. The servers share the other cores, which a child process inherits.
  const cores = availableParallelism();
  if (cores > 1) pin(process.pid, `0-${cores - 2}`);
  const database = await startDatabase(cleanup);
  const { admin, url } = database;
  const known = await fill(admin, url, options.sessions);
  await fillUsers(admin);
  const sizes = await rowSizes(admin, ['users', 'devices', 'refresh_tokens']);
  const redis = await startRedis(cleanup);
  const servers = { database, providerUrl: await startStubProvider(cleanup) };
  const startLoad = (script: string): ChildProcess => {
    const child = startChild(script, cleanup);
    pin(child.pid!, String(cores - 1));
    return child;
  };
  const generator = startLoad('./load/generator.js');
  const clients = startLoad('./load/sockets.js');
  const load: Load = { requests: (order) => ask(generator, order), sockets: (order) => ask(clients, order) };
  await load.requests({ learn: 'refresh', work: refreshes(known) });
  await load.requests({ learn: 'sign-in', work: { signInAt: 'latchkey' } });

  await printHeading(HEADING, options, admin);
  for (const bus of redis ? [undefined, redis] : [undefined]) {
    const rows: string[][] = [];
    const alone = new Map<string, readonly number[]>();
    for (const count of options.instances!)
      await withInstances(count, { ...servers, redis: bus }, options, cleanup, async (ports, measure) => {
        const add = async (title: string, work: Work): Promise<void> => {
          const figures = await measure(work);
          rows.push([String(count), title, ...figures.map((figure) => figure.toFixed(0))]);
          if (count === 1) alone.set(title, figures);
          const one = alone.get(title);
          if (count === 1 || !one || !title.startsWith('push')) return;
          const more = figures.map((figure, n) => (n === 0 ? '' : (figure - one[n]!).toFixed(0)));
          rows.push(['', '  more than with 1 instance', ...more]);
        };
        await admin.query('TRUNCATE access_tokens, authorization_states');
        for (const run of ['refresh', 'sign-in'])
          await add(run, (milliseconds) =>
            load.requests({ run, port: ports, connections: CONNECTIONS, milliseconds }),
          );
        await openSockets(load, ports, SOCKETS_A_USER);
        await add(
          `push to ${SOCKETS_A_USER} sockets, ttl 0`,
          pushes(load, ports, SOCKETS_A_USER, NOT_STORED),
        );
        await load.sockets({ do: 'close' });
        await openSockets(load, ports, 1);
        // Users are on one instance after the other, and so are pushes: now each push comes to the next instance.
        const next = [...ports.slice(1), ports[0]!];
        for (const ttl of [NOT_STORED, STORED])
          await add(`push to 1 socket, ttl ${ttl}`, pushes(load, next, 1, ttl));
        await load.sockets({ do: 'close' });
      });
    print([['instances', bus ? 'with Redis' : 'without Redis', ...FIGURES], ...rows]);
  }
  if (!redis) console.log('\nRedis is left out: redis-server is missing.');
  sizes.push(...(await rowSizes(admin, ['access_tokens', 'audit_events', 'channel_events'])));
  print([['table', 'rows', 'bytes a row, with indexes'], ...sizes]);
}

/** Starts instances, and hands on what measures them: medians over the rounds, as FIGURES names them. */
async function withInstances(
  count: number,
  { database: { admin, pid, url }, redis, providerUrl }: Servers,
  { rounds, seconds }: Options,
  cleanup: Cleanup,
  use: (ports: readonly number[], measure: (work: Work) => Promise<number[]>) => Promise<void>,
): Promise<void> {
  const group = new Cleanup();
  cleanup.add(() => group.run());
  const env = redis ? { REDIS_URL: redis.url } : {};
  const instances = [await startLatchkey(url, providerUrl, group, env)];
  while (instances.length < count) instances.push(await startLatchkey(url, providerUrl, group, env));
  const cpu = (): number[] => [
    instances.reduce((sum, instance) => sum + cpuTime(instance.pid), 0),
    cpuTimeOfFamily(pid),
    redis ? cpuTime(redis.pid) : 0,
  ];
  await use(
    instances.map(({ port }) => port),
    async (work) => {
      await admin.query('CHECKPOINT'); // before the warm-up, which then writes most of the full-page images
      await work(WARM_UP_MS * count);
      const turns: number[][] = [];
      while (turns.length < rounds) {
        const log = await logPosition(admin);
        const before = cpu();
        const { count: done, seconds: took } = await work(seconds * 1000);
        const used = cpu().map((time, n) => (time - before[n]!) / done);
        const logged = ((await logPosition(admin)) - log) / done;
        turns.push([done / took, ...used, used.reduce((sum, one) => sum + one), logged]);
      }
      return FIGURES.map((_, n) => medianOf(turns.map((turn) => turn[n]!)));
    },
  );
  await group.run();
}

async function openSockets(load: Load, ports: readonly number[], each: number): Promise<void> {
  const users = await signInUsers(ports[0]!, USERS);
  await load.sockets({ do: 'connect', protocol: 'socket.io', ports, users, each });
}

function pushes(load: Load, ports: readonly number[], each: number, ttl: number): Work {
  return async (milliseconds) => {
    const { count, seconds } = await load.sockets({ do: 'push', ports, ttl, milliseconds });
    return { count: count / each, seconds };
  };
}

async function startRedis(cleanup: Cleanup): Promise<Servers['redis']> {
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const env = { PATH: `${process.env['PATH']}:/usr/sbin` };
  const child = spawn('redis-server', args, { stdio: 'ignore', env });
  try {
    await once(child, 'spawn');
  } catch {
    return undefined;
  }
  cleanup.add(() => void child.kill());
  const client = new Redis(port);
  client.on('error', () => undefined);
  await client.ping(); // ioredis repeats it until Redis is ready
  client.disconnect();
  return { url: `redis://127.0.0.1:${port}`, pid: child.pid! };
}

/** Without taskset the system places the processes, and the figures vary more. */
function pin(pid: number, cores: string): void {
  spawnSync('taskset', ['-acp', cores, String(pid)], { stdio: 'ignore' });
}

/** Bytes of PostgreSQL's write-ahead log so far. */
async function logPosition(admin: Client): Promise<number> {
  const { rows } = await admin.query<{ bytes: string }>(
    `SELECT pg_current_wal_insert_lsn() - '0/0' AS bytes`,
  );
  return Number(rows[0]!.bytes);
}

async function rowSizes(admin: Client, tables: readonly string[]): Promise<string[][]> {
  const sizes: string[][] = [];
  for (const table of tables) {
    const { rows } = await admin.query<{ count: string; bytes: string }>(
      `SELECT count(*), round(pg_total_relation_size('${table}') / greatest(count(*), 1)::numeric) AS bytes FROM ${table}`,
    );
    sizes.push([table, rows[0]!.count, rows[0]!.bytes]);
  }
  return sizes;
}

const FIGURES = ['a second', 'services µs', 'database µs', 'Redis µs', 'sum µs', 'log bytes'];

const HEADING = `Latchkey, several instances on one database. µs are CPU time a request or push, of all instances in sum.
The load generator runs on the last core, all servers on the other cores: compare CPU times, not requests a second.
A push to 1 socket is sent to the instance after the socket's, so that each push causes a notification.`;
