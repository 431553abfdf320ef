import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import request from 'supertest';
import { Cluster } from '../test/support/cluster.js';
import { query } from '../test/support/database.js';
import { RedisServer } from '../test/support/redis-server.js';
import { Scrape } from '../test/support/scrape.js';
import type { ServiceProcess } from '../test/support/service-process.js';
import { signIn, bearer } from '../test/support/sign-in.js';
import { SocketClient } from '../test/support/socket-client.js';
import { options } from './options.js';

const MINUTES = options.minutes ?? 0.7;
const SAMPLES = 10;
const PEOPLE = 16;
const ROUNDS = 10;
const PAUSE_MS = 100;
/** Short lives, so that rows expire and are removed during a run. */
const ENV = { ACCESS_TOKEN_TTL: '60', REFRESH_TOKEN_TTL: '600', RATE_LIMIT: 'off' };
const TABLES = [
  'users',
  'devices',
  'refresh_tokens',
  'access_tokens',
  'authorization_states',
  'channel_events',
];

interface Load {
  isOver: boolean;
  sessions: number;
  events: number;
}

/** Two instances under a steady load. The table at the end shows whether memory, files, connections and rows stay level. */
it(`runs for ${MINUTES} minutes without a failed request or a lost event`, async () => {
  const redis = await RedisServer.start();
  const cluster = await Cluster.create();
  const rows: string[][] = [];
  const load: Load = { isOver: false, sessions: 0, events: 0 };
  try {
    const env = { ...ENV, REDIS_URL: redis.url };
    const instances = [await cluster.start(env), await cluster.start(env)];
    const sample = async (): Promise<void> => {
      const all = await Promise.all(instances.map(figuresOf));
      const counts = await Promise.all(TABLES.map((table) => rowsOf(cluster, table)));
      const names = Object.keys(all[0]!);
      if (rows.length === 0) {
        const own = ['a', 'b'].flatMap((instance) => names.map((name) => `${instance} ${name}`));
        rows.push(['minute', 'sessions', 'events', ...own, ...TABLES]);
      }
      const figures = all.flatMap((figure) => names.map((name) => figure[name]!.toFixed(0)));
      const minute = ((performance.now() - began) / 60_000).toFixed(1);
      rows.push([minute, String(load.sessions), String(load.events), ...figures, ...counts.map(String)]);
    };
    const began = performance.now();
    const people = Array.from({ length: PEOPLE }, (_, i) => use(cluster, i, load));
    try {
      for (let taken = 0; taken < SAMPLES; taken++) {
        await Promise.race([delay((MINUTES * 60_000) / SAMPLES), Promise.all(people)]);
        await sample();
      }
    } finally {
      load.isOver = true;
      await Promise.all(people);
    }
    for (const instance of instances) expect(await instance.end('SIGTERM')).toBe(0);
  } finally {
    await cluster.close();
    await redis.kill();
    process.stdout.write(`${rows.map((row) => row.join('\t')).join('\n')}\n`);
  }
});

/** Sessions of one user, one after the other: each refreshes, receives its pushes on a socket, and signs out. */
async function use(cluster: Cluster, number: number, load: Load): Promise<void> {
  while (!load.isOver) {
    const [one, other] = number % 2 === 0 ? cluster.instances : cluster.instances.toReversed();
    const device_id = randomUUID();
    let {
      access_token: token,
      refresh_token,
      user_id,
    } = await signIn(one!.url, `user-${number}`, { device_id });
    const socket = await SocketClient.connect(other!.url, token);
    for (let round = 1; round <= ROUNDS; round++) {
      expect((await cluster.push(one!, { user_id, device_id, event: 'soak', ttl: 60 })).status).toBe(202);
      await socket.until(() => socket.of('soak').length === round);
      const call = request(other!.url).post('/oauth2/refresh').send({ refresh_token });
      const { body } = (await call.expect(200)) as { body: { access_token: string } };
      token = body.access_token;
      await bearer(one!.url, token).get('/me').expect(200);
      load.events++;
      await delay(PAUSE_MS);
    }
    await bearer(other!.url, token).post('/sign-out').expect(204);
    socket.close();
    load.sessions++;
  }
}

async function figuresOf({ url, child }: ServiceProcess): Promise<Record<string, number>> {
  const scrape = new Scrape(await (await fetch(`${url}/metrics`)).text());
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return {
    'resident MiB': Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024,
    files: readdirSync(`/proc/${child.pid}/fd`).length,
    sockets: scrape.sum('latchkey_sockets')!,
  };
}

async function rowsOf(cluster: Cluster, table: string): Promise<number> {
  const [row] = await query<{ n: number }>(cluster.database.url, `SELECT count(*)::int AS n FROM ${table}`);
  return row!.n;
}
