import { readFile } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { TRIM_EVERY } from '../../src/channel/append.sql.js';
import { Scrape } from '../support/scrape.js';
import type { Instance } from './instance.js';
import type { Sample } from './series.js';
import { HISTORY, REMOVED_WITHIN } from './settings.js';

const MIB = 1024 * 1024;

/** Name of the series, of the metric, its labels, and what to multiply with. */
const METRICS: readonly (readonly [string, string, Readonly<Record<string, string>>, number])[] = [
  ['rss MiB', 'process_resident_memory_bytes', {}, 1 / MIB],
  ['heap MiB', 'nodejs_heap_size_used_bytes', {}, 1 / MIB],
  ['heap reserved MiB', 'nodejs_heap_size_total_bytes', {}, 1 / MIB],
  ['old space MiB', 'nodejs_heap_space_size_used_bytes', { space: 'old' }, 1 / MIB],
  ['external MiB', 'nodejs_external_memory_bytes', {}, 1 / MIB],
  ['files', 'process_open_fds', {}, 1],
  ['event loop p99 ms', 'nodejs_eventloop_lag_p99_seconds', {}, 1000],
  ['pool', 'latchkey_database_connections', {}, 1],
  ['sockets', 'latchkey_sockets', {}, 1],
  ['streams', 'latchkey_ended_session_streams', {}, 1],
  ['CPU s', 'process_cpu_seconds_total', {}, 1],
];

interface TableRow {
  readonly name: string;
  readonly rows: number;
  /** Since the database began. */
  readonly written: number;
  readonly removed: number;
  readonly dead: number;
  readonly bytes: number;
}

/** Rows are counted exactly: the statistics' own count is an estimate. Those written and removed are exact, a second late. */
const count = (table: string): string => `
  SELECT '${table}' AS name, (SELECT count(*) FROM ${table})::int AS rows,
    pg_stat_get_tuples_inserted('${table}'::regclass)::int AS written,
    pg_stat_get_tuples_deleted('${table}'::regclass)::int AS removed,
    coalesce(pg_stat_get_dead_tuples('${table}'::regclass), 0)::int AS dead, pg_total_relation_size('${table}')::float8 AS bytes`;

/**
 * Events that should have been removed: those of users who have gone, what lay below a history at its last hundredth event
 * (contract §2), and what had expired (§5).
 */
const OVERDUE_EVENTS = `
  SELECT count(*)::int AS overdue FROM channel_events e LEFT JOIN channels c USING (user_id)
  WHERE c.user_id IS NULL OR e.event_offset < c.last_offset - c.last_offset % ${TRIM_EVERY} - ${HISTORY}
    OR e.expires_at < now() - interval '${REMOVED_WITHIN} s'`;

/** Looks at instances, database and Redis, on connections of its own. */
export class Sampler {
  private tables = '';
  private readonly began = performance.now();

  private constructor(
    private readonly instances: readonly Instance[],
    private readonly database: Client,
    private readonly redis: Redis | undefined,
    private readonly serviceKey: string,
  ) {}

  /** @param redisUrl undefined where there is none */
  static async start(
    instances: readonly Instance[],
    databaseUrl: string,
    redisUrl: string | undefined,
    serviceKey: string,
  ): Promise<Sampler> {
    const database = new Client(databaseUrl);
    await database.connect();
    const redis = redisUrl === undefined ? undefined : new Redis(redisUrl);
    const sampler = new Sampler(instances, database, redis, serviceKey);
    const { rows } = await database.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migrations' ORDER BY 1`,
    );
    sampler.tables = rows.map(({ name }) => count(name)).join(' UNION ALL ');
    return sampler;
  }

  async sample(): Promise<Sample> {
    const parts = [...this.instances.map((one) => this.ofInstance(one)), this.ofDatabase(), this.ofRedis()];
    const values = Object.assign({}, ...(await Promise.all(parts))) as Sample['values'];
    return { minutes: (performance.now() - this.began) / 60_000, values };
  }

  async end(): Promise<void> {
    this.redis?.disconnect();
    await this.database.end();
  }

  private async ofInstance({ name, url, child }: Instance): Promise<Record<string, number>> {
    const response = await fetch(`${url}/metrics`, {
      headers: { Authorization: `Bearer ${this.serviceKey}` },
    });
    const scrape = new Scrape(await response.text());
    const values = METRICS.map(([series, metric, labels, factor]): [string, number] => [
      `${name} ${series}`,
      (scrape.sum(metric, labels) ?? NaN) * factor,
    ]);
    return {
      ...Object.fromEntries([...values, [`${name} series of metrics`, scrape.samples.length]]),
      ...(await filePages(name, child.pid!)),
    };
  }

  private async ofDatabase(): Promise<Record<string, number>> {
    const { rows } = await this.database.query<TableRow>(this.tables);
    const events = await this.database.query<{ overdue: number }>(OVERDUE_EVENTS);
    const connections = await this.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM pg_stat_activity
       WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
    );
    return Object.fromEntries([
      ...rows.flatMap(({ name, rows: live, written, removed, dead, bytes }) => [
        [`rows ${name}`, live],
        [`written ${name}`, written],
        [`removed ${name}`, removed],
        [`dead ${name}`, dead],
        [`MiB ${name}`, bytes / MIB],
      ]),
      ['overdue channel_events', events.rows[0]!.overdue],
      ['database connections', connections.rows[0]!.count],
    ]) as Record<string, number>;
  }

  private async ofRedis(): Promise<Record<string, number>> {
    if (!this.redis) return {};
    const info = await this.redis.info();
    const told = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
    return {
      'redis keys': await this.redis.dbsize(),
      'redis keys expired': told('expired_keys'),
      'redis MiB': told('used_memory') / MIB,
    };
  }
}

/** How much of the resident memory is pages of files: of Node.js itself and of libraries. Only Linux tells. */
async function filePages(instance: string, pid: number): Promise<Record<string, number>> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kib = /^RssFile:\s+(\d+) kB$/m.exec(status)?.[1];
  return kib === undefined ? {} : { [`${instance} file pages MiB`]: Number(kib) / 1024 };
}
