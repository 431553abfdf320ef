import type { Client } from 'pg';
import { interleave } from '../interleave.js';
import { startLatchkey } from '../latchkey-target.js';
import { table } from '../report.js';
import { SERVICE_KEY } from '../service-key.js';
import { signInUsers, SocketClients } from '../socket-clients.js';
import type { Measured } from '../turn.js';
import { withinLimits } from './open-files.js';
import { newDatabase, type GrowthBench } from './place.js';

const USERS = [1000, 10_000, 100_000];
/** More than so many do not fit on one machine three times, beside the process that holds their other ends. */
const MOST_REAL = 10_000;
const TTL_S = 600;
const PUSHING_AT_ONCE = 8;
const WARM_UP_MS = 3000;

/**
 * What a push that is kept costs with more and more users connected. MOST_REAL of them have a real socket; the others are connected
 * to instances that exist in the tables alone, with as many rows as real ones would have.
 */
export async function measurePushes(bench: GrowthBench): Promise<void> {
  const { options, report, cleanup, database } = bench;
  const clients = new Map<Measured, SocketClients>();
  for (const users of USERS) {
    const real = withinLimits(Math.min(users, MOST_REAL));
    const { url, client } = await newDatabase(bench, `users_${users}`);
    await insertConnected(client, users - real);
    const target = await startLatchkey(url, bench.providerUrl, options.logLevel, cleanup);
    const sockets = new SocketClients(cleanup);
    await sockets.ask({
      do: 'connect',
      port: target.port,
      users: await signInUsers(target.port, real),
      each: 1,
    });
    await client.query('VACUUM (ANALYZE)');
    clients.set(
      { ...target, name: `${users.toLocaleString('en')} users, ${real.toLocaleString('en')} real` },
      sockets,
    );
  }
  const run = (target: Measured, milliseconds: number) =>
    clients.get(target)!.ask({ do: 'push', milliseconds, serviceKey: SERVICE_KEY, ttl: TTL_S });
  const targets = [...clients.keys()];
  for (const target of targets) await run(target, WARM_UP_MS);
  const plan = {
    databasePid: database.pid,
    milliseconds: options.seconds * 1000,
    tidy: () => Promise.resolve(),
    run,
  };
  const rows = await interleave(targets, plan, options.rounds);
  report.add('growth-pushes', table('push, kept for ten minutes', PUSHING_AT_ONCE, [targets[0]!.name], rows));
  for (const sockets of clients.values()) await sockets.ask({ do: 'close' });
}

/** Users who are connected to other instances, MOST_REAL to each, which live as long as the run. */
async function insertConnected(client: Client, count: number): Promise<void> {
  await client.query(
    `WITH places AS (
       SELECT gen_random_uuid() AS user_id, gen_random_uuid() AS device_id, (i / $2::int)::text AS place
       FROM generate_series(0, $1::int - 1) AS i
     ), entered AS (
       INSERT INTO users (user_id, provider, provider_user_id) SELECT user_id, 'stub', user_id::text FROM places
     ), with_devices AS (
       INSERT INTO devices (user_id, device_id) SELECT user_id, device_id FROM places
     ), with_channels AS (
       INSERT INTO channels (user_id, last_offset) SELECT user_id, 1 FROM places
     ), connected AS (
       INSERT INTO presence (user_id, device_id, instance_id) SELECT user_id, device_id, md5(place)::uuid FROM places
     )
     INSERT INTO instances (instance_id, seen_at) SELECT DISTINCT md5(place)::uuid, 'infinity'::timestamptz FROM places`,
    [count, MOST_REAL],
  );
}
