import type { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { BoundedPool } from '../../database/pool/bounded-pool.js';
import type { Clock } from '../../database/clock.js';
import type { Events } from '../../events.js';
import { Counter, Gauge, Histogram, type Registry } from './prom-client.js';
import { gaugeOf } from './readings.js';

const CALLS = [1, 2, 4, 8, 16, 32, 64, 128, 256]; // 256 share a statement at most (database/statements/coalesce.ts)
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];

/** The way to the database, the statements that calls share, and the removal of what has expired. */
export function databaseMetrics(
  registry: Registry,
  events: Events,
  dataSource: DataSource,
  clock: Clock,
): void {
  sharedStatements(registry, events);
  removal(registry, events);
  pool(registry, (dataSource.driver as PostgresDriver).master as BoundedPool);
  gaugeOf(
    registry,
    'latchkey_clock_offset_seconds',
    "How far the database's clock, by which all instances judge, is ahead of this machine's.",
    () => (clock.now() - Date.now()) / 1000,
  );
}

function sharedStatements(registry: Registry, events: Events): void {
  const options = { labelNames: ['statement'], registers: [registry] };
  const sizes = new Histogram({
    name: 'latchkey_database_batch_size',
    help: 'How many calls shared a statement.',
    buckets: CALLS,
    ...options,
  });
  const durations = new Histogram({
    name: 'latchkey_database_batch_duration_seconds',
    help: 'How long a statement took that calls share, with the wait for a connection.',
    buckets: SECONDS,
    ...options,
  });
  events.on('statement.shared', ({ name, calls, seconds }) => {
    sizes.observe({ statement: name }, calls);
    durations.observe({ statement: name }, seconds);
  });
}

function removal(registry: Registry, events: Events): void {
  const options = { labelNames: ['table'], registers: [registry] };
  const removed = new Counter({
    name: 'latchkey_removed_rows_total',
    help: 'Expired rows that this instance removed.',
    ...options,
  });
  const failures = new Counter({
    name: 'latchkey_removal_failures_total',
    help: 'Runs of the removal that failed.',
    ...options,
  });
  const succeeded = new Gauge({
    name: 'latchkey_removal_last_success_timestamp_seconds',
    help: 'When the last run of the removal went well; one begins every half minute.',
    ...options,
  });
  const durations = new Histogram({
    name: 'latchkey_removal_duration_seconds',
    help: 'How long a run of the removal took.',
    buckets: [0.01, 0.1, 1, 10, 60],
    ...options,
  });
  events.on('removal.done', ({ table, removed: rows, ok, seconds }) => {
    removed.inc({ table }, rows);
    failures.inc({ table }, ok ? 0 : 1);
    if (ok) succeeded.setToCurrentTime({ table });
    durations.observe({ table }, seconds);
  });
}

function pool(registry: Registry, database: BoundedPool): void {
  const states = new Gauge({
    name: 'latchkey_database_connections',
    help: 'Connections of the pool, by state: used or idle.',
    labelNames: ['state'],
    registers: [],
    collect: () => {
      const { totalCount, idleCount } = database;
      states.set({ state: 'used' }, totalCount - idleCount);
      states.set({ state: 'idle' }, idleCount);
    },
  });
  registry.registerMetric(states);
  gaugeOf(
    registry,
    'latchkey_database_connections_max',
    'Connections that the pool may have (DATABASE_POOL_SIZE).',
    () => database.options.max,
  );
  gaugeOf(
    registry,
    'latchkey_database_waiting',
    'Statements that wait for a connection of the pool.',
    () => database.waitingCount,
  );
}
