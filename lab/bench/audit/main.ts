import { createHash, randomInt, randomUUID } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { dataSourceOptions } from '../../../src/platform/database/pool/data-source.js';
import { MIGRATIONS } from '../../../src/entities.js';
import { migrate } from '../../../src/platform/database/start/migrate.js';
import { Cleanup } from '../cleanup.js';
import { startDatabase } from '../database.js';
import { startLatchkey } from '../latchkey-target.js';
import { SERVICE_KEY } from '../names.js';
import { addressOf, DAYS, fillAudit, HEAVY, ID } from './fill.js';

const USAGE = `npm run lab -- audit [options]
  --events 1000000   480 bytes of disk each
  --repeats 20       calls of each row
  --database URL     fill, or measure again, this database in place of one for the run`;

/** Speed of the filling, not of what is measured: nothing is written there. */
const SETTINGS = [
  'fsync=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'autovacuum=off',
  'shared_buffers=256MB',
  'maintenance_work_mem=1GB',
  'max_wal_size=2GB',
];
const HOUR_MS = 3_600_000;

type Query = Readonly<Record<string, string>>;

async function measure(cleanup: Cleanup): Promise<void> {
  const { values } = parseArgs({
    options: { events: { type: 'string' }, repeats: { type: 'string' }, database: { type: 'string' } },
  });
  const repeats = Number(values.repeats ?? 20);
  const url = values.database ?? (await startDatabase(cleanup, SETTINGS)).url;
  const admin = new Client(url);
  await admin.connect();
  cleanup.add(() => admin.end());
  await migrate(
    { ...dataSourceOptions(url, 1), migrations: MIGRATIONS },
    {
      timeoutMs: 10_000,
      signal: new AbortController().signal,
      log: () => undefined,
    },
  );
  const { rows: found } = await admin.query<{ at: Date; events: number }>(
    'SELECT at, (SELECT reltuples FROM pg_class WHERE oid = $1::regclass) AS events FROM audit_events ORDER BY at DESC LIMIT 1',
    ['audit_events'],
  );
  const events = Number(values.events ?? found[0]?.events ?? 1_000_000);
  const end = found[0]?.at ?? new Date();
  if (!found[0]) await fillAudit(admin, events, end);
  await printSizes(admin, events);

  const latchkey = await startLatchkey(url, 'http://127.0.0.1:9', cleanup, { AUDIT_RETENTION_DAYS: '3650' });
  const call = async (path: string, query: Query): Promise<{ ms: number; count: number }> => {
    const text = new URLSearchParams(query).toString();
    const began = performance.now();
    const answer = await fetch(`http://127.0.0.1:${latchkey.port}${path}?${text}`, {
      headers: { Authorization: `Bearer ${SERVICE_KEY}` },
    });
    const body = (await answer.json()) as {
      events?: unknown[];
      counts?: { attempts: number }[];
      error?: string;
    };
    const ms = performance.now() - began;
    if (!answer.ok) return { ms, count: NaN };
    return {
      ms,
      count: body.events?.length ?? body.counts!.reduce((sum, { attempts }) => sum + attempts, 0),
    };
  };
  const { rows: places } = await admin.query<{ directory: string; file: string }>(
    `SELECT current_setting('data_directory') AS directory, pg_relation_filepath(oid) AS file FROM pg_class
     WHERE oid = $1::regclass OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = $1::regclass)`,
    ['audit_events'],
  );
  console.log(
    '| Call | Found | cold p50 | cold max | warm p50 | warm max |\n| --- | ---: | ---: | ---: | ---: | ---: |',
  );
  for (const [name, path, queryOf] of cases(events, end)) {
    for (const { directory, file } of places) dropFromCache(`${directory}/${file}`);
    const queries = Array.from({ length: repeats }, queryOf);
    const cold = [];
    for (const query of queries) cold.push(await call(path, query));
    const warm = [];
    for (const query of queries) warm.push(await call(path, query));
    const figures = [cold, warm].flatMap((all) => {
      const sorted = all.map(({ ms }) => ms).toSorted((one, other) => one - other);
      return [sorted[Math.floor(sorted.length / 2)]!, sorted.at(-1)!].map((ms) => ms.toFixed(1));
    });
    console.log(`| ${name} | ${warm[0]!.count} | ${figures.join(' | ')} |`);
  }
}

function cases(events: number, end: Date): [name: string, path: string, queryOf: () => Query][] {
  const idOf = (kind: keyof typeof ID, n: number): string =>
    createHash('md5')
      .update(`${ID[kind]}${n}`)
      .digest('hex')
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  const n = (): number => randomInt(1, events);
  const user = (): number => randomInt(1, 200_000);
  const before = (hours: number): string => new Date(end.getTime() - hours * HOUR_MS).toISOString();
  /** A day of the trail. */
  const day = (): Query => {
    const hours = randomInt(24, (DAYS - 1) * 24);
    return { since: before(hours), until: before(hours - 24) };
  };
  const search = (name: string, queryOf: () => Query): [string, string, () => Query] => [
    name,
    '/audit',
    queryOf,
  ];
  const counts = (name: string, queryOf: () => Query): [string, string, () => Query] => [
    name,
    '/audit/counts',
    queryOf,
  ];
  const heavyDevice = { device_id: idOf('device', HEAVY.device) };
  return [
    search('request', () => ({ request_id: idOf('request', n()) })),
    search('request, none', () => ({ request_id: randomUUID() })),
    search('session', () => ({ session_id: idOf('session', Math.floor(events / 4) + Math.floor(n() / 4)) })),
    search('session of 1 %', () => ({ session_id: idOf('session', HEAVY.session), ...day() })),
    search('device', () => ({ device_id: idOf('device', 3 * user() + 1) })),
    search('device of 1 %', () => ({ ...heavyDevice, ...day() })),
    search('device of 1 %, an event that it lacks', () => ({
      ...heavyDevice,
      event: 'session_lost',
      ...day(),
    })),
    search('address', () => ({ address: addressOf(user()) })),
    search('address, none', () => ({ address: `192.0.2.${randomInt(256)}` })),
    search('address, an event, a day', () => ({ address: addressOf(user()), event: 'sign_out', ...day() })),
    search('address of 1 %', () => ({ address: HEAVY.address, ...day() })),
    search('address of 1 %, 1,000 a page', () => ({
      address: HEAVY.address,
      limit: '1000',
      until: day().until!,
    })),
    search('address of 1 %, an error that it lacks', () => ({
      address: HEAVY.address,
      error: 'error_1',
      until: day().until!,
    })),
    search('error, a day', () => ({ error: `error_${randomInt(15)}`, ...day() })),
    search('error, a day, 1,000 a page', () => ({ error: 'error_0', limit: '1000', ...day() })),
    search('error, none', () => ({ error: `none_${randomInt(99)}` })),
    search('new device, a day', () => ({ new_device: 'true', ...day() })),
    search('new network, a day', () => ({ new_network: 'true', ...day() })),
    search('new network of a user', () => ({ new_network: 'true', user_id: idOf('user', user()) })),
    search('provider that there is not', () => ({ provider: 'none', until: day().until! })),
    counts('errors of an hour', () => ({ by: 'error', since: before(1) })),
    counts('errors of a day', () => ({ by: 'error', ...day() })),
    counts('errors of 7 days', () => ({ by: 'error', since: before(7 * 24) })),
    counts('refused sign-ins of 7 days by hour', () => ({
      by: 'hour',
      event: 'sign_in_refused',
      since: before(7 * 24),
    })),
    counts('events of an hour', () => ({ by: 'event', since: before(1) })),
    counts('events of a day', () => ({ by: 'event', ...day() })),
    counts('events of an address of 1 %', () => ({
      by: 'event',
      address: HEAVY.address,
      until: day().until!,
    })),
  ];
}

/** So that the next calls read the disk, but for what PostgreSQL itself holds. */
function dropFromCache(file: string): void {
  for (let part = 0, path = file; existsSync(path); path = `${file}.${++part}`)
    execFileSync('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'status=none']);
}

async function printSizes(admin: Client, events: number): Promise<void> {
  const { rows } = await admin.query<{ name: string; bytes: number }>(
    `SELECT relname AS name, pg_relation_size(oid)::float8 AS bytes FROM pg_class
     WHERE oid = $1::regclass OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = $1::regclass) ORDER BY 2 DESC`,
    ['audit_events'],
  );
  for (const { name, bytes } of rows) console.log(`${name}: ${(bytes / events).toFixed(1)} bytes an event`);
}

const cleanup = Cleanup.ofProcess();
try {
  await measure(cleanup);
} catch (error) {
  if (!cleanup.hasBegun) console.error(error, `\n${USAGE}`);
  process.exitCode = 1;
}
await cleanup.run();
