import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { dataSourceOptions } from '../../src/database/pool/data-source.js';
import { migrate } from '../../src/database/start/migrate.js';
import { ask, startChild } from './child.js';
import type { Cleanup } from './cleanup.js';
import { accessTokens, introspections, refreshes, startStubProvider } from './compare.js';
import { startDatabase } from './database.js';
import { insertSessions, insertUsers, newTokens } from './fill.js';
import { startLatchkey } from './latchkey-target.js';
import type { LoadOrder, Work } from './load/generator.js';
import type { LoadResult } from './load/run.js';
import { getRequest } from './load/script.js';
import { SERVICE_KEY } from './names.js';
import type { Options } from './options.js';
import { print, printHeading, printTable } from './report.js';
import { interleave, measure, type Measured } from './turn.js';

/** Sessions in use lie apart in the tables: so many steps fill a database, each with some of them. */
const STEPS = 64;
const KNOWN = 4096;
const CONNECTIONS = 16;
/** Bounds of one user (docs/security.md#database). */
const [MOST_SESSIONS, MOST_DEVICES] = [10_000, 2000];
const EXPIRED = 300_000;
const RETENTION_DAYS = 90;

const SETTINGS = ['shared_buffers=4GB', 'max_wal_size=8GB', 'maintenance_work_mem=1GB'];

interface Size {
  readonly name: string;
  readonly sessions: number;
  readonly users: number;
  readonly auditRows: number;
}

interface Sized extends Measured {
  readonly admin: Client;
  readonly tokens: readonly string[];
  readonly largeUser: string;
}

/** A grown database beside a small one; each has a service, and the services take turns. */
export async function compareSizes(options: Options, cleanup: Cleanup): Promise<void> {
  const { sessions, auditRows } = options;
  const database = await startDatabase(cleanup, SETTINGS);
  const providerUrl = await startStubProvider(cleanup);
  const targets: Sized[] = [];
  for (const size of [
    { name: 'small', sessions: 10_000, users: 1000, auditRows: 10_000 },
    { name: 'grown', sessions, users: sessions / 10, auditRows },
  ])
    targets.push(await startSized(size, database, providerUrl, cleanup));
  const generator = startChild('./load/generator.js', cleanup);
  const generate = (order: LoadOrder) => ask<LoadResult>(generator, order);
  const grown = targets[1]!;
  await printHeading(HEADING, options, grown.admin);
  for (const workload of ['refresh', 'introspect', 'sign-in', 'audit of a user'] as const) {
    for (const target of targets) {
      await generate({ learn: target.name, work: await workOf(workload, target) });
      await generate({ run: target.name, port: target.port, connections: CONNECTIONS, milliseconds: 5000 });
    }
    const plan = {
      databasePid: database.pid,
      seconds: options.seconds,
      tidy: async () => {
        for (const { admin } of targets) await admin.query('TRUNCATE access_tokens, authorization_states');
        await database.admin.query('CHECKPOINT');
      },
      run: ({ name, port }: Measured, milliseconds: number) =>
        generate({ run: name, port, connections: CONNECTIONS, milliseconds }),
    };
    const keeps = workload === 'introspect' ? { ...plan, tidy: async () => undefined } : plan;
    const turns = await interleave(targets, options.rounds, (target) => measure(target, keeps));
    printTable(workload, CONNECTIONS, ['small'], turns);
  }

  await generate({ learn: 'grown', work: refreshes({ refreshTokens: grown.tokens }) });
  const alone = () =>
    generate({ run: 'grown', port: grown.port, connections: CONNECTIONS, milliseconds: 5000 });
  const rows = [['grown, refreshes', 'req/s', 'p50 ms', 'p99 ms', 'done a second']];
  const report = (name: string, { count, seconds, p50, p99 }: LoadResult, done = NaN): void => {
    rows.push([name, (count / seconds).toFixed(0), p50.toFixed(2), p99.toFixed(2), done.toFixed(0)]);
  };
  report('alone', await alone());
  const listing = beside(() => listDevices(grown));
  report('beside the user of 10,000 sessions, who lists the devices', await alone(), await listing.end());
  const removing = await removal(grown.admin);
  report('beside the removal of expired rows', await alone(), await removing());
  print(rows);
}

async function startSized(
  size: Size,
  { url, admin: server }: Awaited<ReturnType<typeof startDatabase>>,
  providerUrl: string,
  cleanup: Cleanup,
): Promise<Sized> {
  await server.query(`CREATE DATABASE ${size.name}`);
  const place = new URL(url);
  place.pathname = `/${size.name}`;
  const admin = new Client(place.href);
  await admin.connect();
  cleanup.add(() => admin.end());
  const patience = { timeoutMs: 10_000, signal: new AbortController().signal, log: () => undefined };
  await migrate(dataSourceOptions(place.href, 1), patience);
  const began = Date.now();
  const filled = await grow(admin, size);
  console.log(`${size.name}: filled in ${Math.round((Date.now() - began) / 1000)} s`);
  const { port, pid: servicePid } = await startLatchkey(place.href, providerUrl, cleanup);
  return { name: size.name, port, pid: servicePid, admin, ...filled };
}

async function grow(
  admin: Client,
  { sessions, users, auditRows }: Size,
): Promise<Pick<Sized, 'tokens' | 'largeUser'>> {
  const tokens = newTokens(KNOWN, false);
  await insertUsers(admin, false);
  const userOf = (n: string): string => `md5((${n})::text)::uuid`;
  for (let step = 0; step < STEPS; step++) {
    const range = (all: number): [number, number] => [
      Math.floor((all * step) / STEPS) + 1,
      Math.floor((all * (step + 1)) / STEPS),
    ];
    await admin.query(
      `INSERT INTO users (user_id, provider, provider_user_id, username, email, username_key, email_key)
       SELECT ${userOf('n')}, 'stub', n::text, 'user ' || n, n || '@example.org', 'user ' || n, n || '@example.org'
       FROM generate_series($1::int, $2::int) AS n`,
      range(users),
    );
    await admin.query(
      `INSERT INTO devices (user_id, device_id, device_name)
       SELECT ${userOf('n % $3')}, md5('d' || n)::uuid, 'Firefox' FROM generate_series($1::int, $2::int) AS n`,
      [...range(users * 2), users],
    );
    await admin.query(
      `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at)
       SELECT ${userOf('n % $3')}, gen_random_uuid(), md5('d' || n % (2 * $3))::uuid, sha256(int8send(n)),
         now() + random() * interval '30 days'
       FROM generate_series($1::bigint, $2::bigint) AS n`,
      [...range(sessions), users],
    );
    const each = KNOWN / STEPS;
    const some = tokens.slice(step * each, (step + 1) * each);
    await insertSessions(
      admin,
      some.map((token) => ({ token, jkt: null })),
    );
  }
  const { rows } = await admin.query<{ user_id: string }>(
    `INSERT INTO users (user_id, provider, provider_user_id) VALUES (gen_random_uuid(), 'stub', 'large') RETURNING user_id`,
  );
  const largeUser = rows[0]!.user_id;
  await admin.query(
    `INSERT INTO devices (user_id, device_id) SELECT $1, md5('l' || n)::uuid FROM generate_series(1, $2::int) AS n`,
    [largeUser, MOST_DEVICES],
  );
  await admin.query(
    `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at)
     SELECT $1, gen_random_uuid(), md5('l' || n % $3 + 1)::uuid, sha256(int4send(n)), now() + interval '20 days'
     FROM generate_series(1, $2::int) AS n`,
    [largeUser, MOST_SESSIONS, MOST_DEVICES],
  );
  await fillAudit(admin, auditRows, userOf(`1 + (random() * ${users - 1})::int`));
  await admin.query('VACUUM (ANALYZE)');
  return { tokens, largeUser };
}

/** Oldest first, as a service writes them; the indexes are made afterwards, which takes a third of the time. */
async function fillAudit(admin: Client, rows: number, user: string): Promise<void> {
  const { rows: indexes } = await admin.query<{ indexdef: string; name: string; is_key: boolean }>(
    `SELECT indexdef, i.indexname AS name, c.conname IS NOT NULL AS is_key FROM pg_indexes AS i
     LEFT JOIN pg_constraint AS c ON c.conname = i.indexname WHERE tablename = 'audit_events'`,
  );
  for (const { name, is_key } of indexes)
    await admin.query(is_key ? `ALTER TABLE audit_events DROP CONSTRAINT ${name}` : `DROP INDEX ${name}`);
  const step = 1_000_000;
  for (let from = 1; from <= rows; from += step)
    await admin.query(
      `INSERT INTO audit_events (user_id, at, id, event, result, session_id, device_id, provider, provider_user_id,
         address, user_agent, actor_type, request_id)
       SELECT ${user}, now() - interval '${RETENTION_DAYS} days' * (1 - n / $3::float8), gen_random_uuid(), 'sign_in', 'ok',
         gen_random_uuid(), gen_random_uuid(), 'stub', n::text, '203.0.113.7',
         'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'user', gen_random_uuid()::text
       FROM generate_series($1::int, $2::int) AS n`,
      [from, Math.min(from + step - 1, rows), rows],
    );
  for (const { name, is_key, indexdef } of indexes)
    await admin.query(
      is_key ? `ALTER TABLE audit_events ADD CONSTRAINT ${name} PRIMARY KEY (user_id, at, id)` : indexdef,
    );
}

async function workOf(
  workload: 'refresh' | 'introspect' | 'sign-in' | 'audit of a user',
  { port, tokens, admin }: Sized,
): Promise<Work> {
  if (workload === 'refresh') return refreshes({ refreshTokens: tokens });
  if (workload === 'sign-in') return { signInAt: 'latchkey' };
  if (workload === 'introspect') return introspections(await accessTokens(port, tokens.slice(0, 1024)));
  const { rows } = await admin.query<{ user_id: string }>(
    'SELECT user_id FROM users ORDER BY md5(user_id::text) LIMIT 1024',
  );
  const head = `Authorization: Bearer ${SERVICE_KEY}\r\n`;
  return {
    requests: rows.map(({ user_id }) => String(getRequest(`/audit?user_id=${user_id}&limit=10`, head))),
    mark: '"events":',
  };
}

/** Does one call after the other until `end`, which returns how many a second. */
function beside(call: () => Promise<unknown>): { end(): Promise<number> } {
  const over = new AbortController();
  let count = 0;
  const began = performance.now();
  const done = (async () => {
    while (!over.signal.aborted) {
      await call();
      count++;
    }
  })();
  return {
    async end() {
      over.abort();
      await done;
      return (count * 1000) / (performance.now() - began);
    },
  };
}

async function listDevices({ port, largeUser }: Sized): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/users/${largeUser}/devices`, {
    headers: { Authorization: `Bearer ${SERVICE_KEY}` },
  });
  if (!answer.ok) throw new Error(`the list of devices was answered with ${answer.status}`);
  await answer.arrayBuffer();
}

/** Makes rows that have expired. @returns a function that resolves, if all are removed, to how many a second */
async function removal(admin: Client): Promise<() => Promise<number>> {
  await admin.query(
    `INSERT INTO access_tokens (user_id, jti, session_id, expires_at, token)
     SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now() - random() * interval '1 day', repeat('x', 600)
     FROM generate_series(1, $1::int)`,
    [EXPIRED],
  );
  const began = performance.now();
  const isDone = async (): Promise<boolean> => {
    const { rows } = await admin.query('SELECT FROM access_tokens WHERE expires_at < now() LIMIT 1');
    return rows.length === 0;
  };
  const seconds = (async () => {
    while (!(await isDone())) await delay(100);
    return (performance.now() - began) / 1000;
  })();
  return async () => EXPIRED / (await seconds);
}

const HEADING = `Latchkey with a grown database beside a small one; each has a service of its own, and the services take turns.`;
