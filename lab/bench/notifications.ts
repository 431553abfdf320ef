import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '../../packages/embedded-postgres/src/address.js';
import { ask, startChild } from './child.js';
import { Cleanup } from './cleanup.js';
import { startStubProvider } from './compare.js';
import { cpuTime } from './cpu-time.js';
import { startDatabase, type Database } from './database.js';
import { fill } from './fill.js';
import { startLatchkey } from './latchkey-target.js';
import type { SocketsOrder, SocketsResult } from './load/sockets.js';
import type { Options } from './options.js';
import { medianOf, print, printHeading } from './report.js';
import { signInUsers } from './sockets.js';

const RATE = 400;
const USERS = 100;
const OTHERS = 3;
const SETTLE_MS = 1000;
const STORED = 600;
/** Place of the socket of each user: on the instance that pushes, or on another one. */
const CASES = [
  { title: 'ttl 0, nobody there', ttl: 0, elsewhere: false },
  { title: 'ttl 0, to a socket there', ttl: 0, elsewhere: true },
  { title: 'kept, nobody there', ttl: STORED, elsewhere: false },
  { title: 'kept, to a socket there', ttl: STORED, elsewhere: true },
] as const;
type Case = (typeof CASES)[number];

/** CPU µs a push. */
interface Figures {
  readonly pusher: number;
  readonly receiver: number;
  /** All of it, and the part of a receiver's listening connection. */
  readonly database: number;
  readonly listening: number;
  readonly redis: number;
}

/**
 * What a notification costs the other instances: the first one gets a constant number of pushes, the others only receive. All figures
 * are CPU time less the idle CPU time of these processes.
 */
export async function measureNotifications(options: Options, cleanup: Cleanup): Promise<void> {
  const database = await startDatabase(cleanup);
  await fill(database.admin, database.url, options.sessions);
  const providerUrl = await startStubProvider(cleanup);
  const clients = startChild('./load/sockets.js', cleanup);
  const clientsDo = (order: SocketsOrder) => ask<SocketsResult>(clients, order);
  await printHeading(HEADING, options, database.admin);
  const redis = await startRedis(cleanup);
  for (const bus of redis ? [undefined, redis] : [undefined]) {
    const group = new Cleanup();
    cleanup.add(() => group.run());
    const env = bus ? { REDIS_URL: bus.url } : {};
    const start = () => startLatchkey(database.url, providerUrl, group, env);
    const pusher = await start();
    const users = await signInUsers(pusher.port, USERS);
    const push = (milliseconds: number, ttl: number) =>
      clientsDo({ do: 'push', port: pusher.port, events: 1, milliseconds, ttl, rate: RATE });
    const connect = (port: number) =>
      clientsDo({ do: 'connect', protocol: 'socket.io', port, users, each: 1 });
    await connect(pusher.port);
    await push(SETTLE_MS, STORED); // opens its connections to the database
    await clientsDo({ do: 'close' });
    const ofPusher = await findListeners(database.admin);
    const others = await Promise.all(Array.from({ length: OTHERS }, start));
    const listeners = (await findListeners(database.admin)).filter((pid) => !ofPusher.includes(pid));
    const now = (): number[] => {
      const times = [pusher, ...others].map(({ pid }) => cpuTime(pid));
      const listening = listeners.reduce((sum, pid) => sum + cpuTime(pid), 0);
      return [...times, cpuTime(database.pid), listening, bus ? cpuTime(bus.pid) : 0];
    };
    const used = async (work: () => Promise<unknown>): Promise<number[]> => {
      const before = now();
      await work();
      return now().map((time, i) => time - before[i]!);
    };
    const measure = async ({ ttl, elsewhere }: Case): Promise<number[]> => {
      await connect((elsewhere ? others[0]! : pusher).port);
      await push(SETTLE_MS, ttl);
      const idle = await used(() => delay(options.seconds * 1000));
      const busy = await used(() => push(options.seconds * 1000, ttl));
      await clientsDo({ do: 'close' });
      return busy.map((time, i) => (time - idle[i]!) / (RATE * options.seconds));
    };
    const rounds: Figures[][] = [];
    while (rounds.length < options.rounds) {
      const figures: number[][] = [];
      for (const one of CASES) figures.push(await measure(one));
      rounds.push(CASES.map((one, i) => toFigures(one, figures[i]!, figures[one.elsewhere ? i - 1 : i]!)));
    }
    report(bus ? 'over Redis' : 'over PostgreSQL', rounds);
    await group.run();
  }
  if (!redis) console.log('\nRedis is left out: redis-server is missing.');
}

/** @param nobody figures of the same case without a socket elsewhere: what the instances without one cost */
function toFigures({ elsewhere }: Case, measured: readonly number[], nobody: readonly number[]): Figures {
  const [database, listening, redis] = measured.slice(1 + OTHERS) as [number, number, number];
  const mean = nobody.slice(1, 1 + OTHERS).reduce((sum, one) => sum + one, 0) / OTHERS;
  return {
    pusher: measured[0]!,
    receiver: elsewhere ? measured[1]! : mean,
    database,
    listening: listening / OTHERS,
    redis,
  };
}

function report(title: string, rounds: readonly (readonly Figures[])[]): void {
  const names = ['pusher', 'receiver', 'database', 'listening', 'redis'] as const;
  const rows = CASES.map(({ title: name }, i) => [
    name,
    ...names.map((figure) => medianOf(rounds.map((round) => round[i]![figure])).toFixed(0)),
  ]);
  const head = [
    'pushing instance µs',
    'receiving one µs',
    'database µs',
    'of it to listen, each µs',
    'Redis µs',
  ];
  print([[`${RATE} pushes a second ${title}`, ...head], ...rows]);
}

/** Processes of PostgreSQL that pass notifications on to instances. */
async function findListeners(admin: Database['admin']): Promise<number[]> {
  const { rows } = await admin.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE application_name = 'latchkey-hints'`,
  );
  return rows.map(({ pid }) => pid);
}

async function startRedis(cleanup: Cleanup): Promise<{ url: string; pid: number } | undefined> {
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

const HEADING = `What a notification costs: one instance gets ${RATE} pushes a second for ${USERS} users with a socket each, ${OTHERS} others
only receive. CPU time a push, less that of the idle processes.`;
