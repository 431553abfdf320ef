import type { DataSource } from 'typeorm';
import type { BoundedPool } from '../../platform/database/pool/bounded-pool.js';
import { poolOf } from '../../platform/database/pool/data-source.js';
import type { Clock } from '../../platform/database/clock.js';
import type { Events } from '../../platform/events.js';
import type { Meter } from './meter.js';

// a batch has 256 calls at most (platform/database/batching.ts)
const CALLS = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];
const RUN_SECONDS = [0.01, 0.1, 1, 10, 60];

export function databaseMetrics(meter: Meter, events: Events, dataSource: DataSource, clock: Clock): void {
  batches(meter, events);
  removal(meter, events);
  pool(meter, poolOf(dataSource));
  meter.gauge(
    'latchkey_clock_offset_seconds',
    "Seconds by which the database's clock, the clock of all instances, is ahead of this machine's.",
    () => (clock.now() - Date.now()) / 1000,
  );
}

function batches(meter: Meter, events: Events): void {
  const sizes = meter.histogram('latchkey_database_batch_size', 'Calls in a batch.', CALLS, 'statement');
  const durations = meter.histogram(
    'latchkey_database_batch_duration_seconds',
    'Duration of a batch, with the wait for a connection.',
    SECONDS,
    'statement',
  );
  events.on('statement.batched', ({ name: statement, calls, seconds }) => {
    sizes.observe({ statement }, calls);
    durations.observe({ statement }, seconds);
  });
}

function removal(meter: Meter, events: Events): void {
  const removed = meter.counter(
    'latchkey_removed_rows_total',
    'Expired rows that this instance removed.',
    'table',
  );
  const failures = meter.counter(
    'latchkey_removal_failures_total',
    'Runs of the removal that failed.',
    'table',
  );
  const succeeded = meter.labelledGauge(
    'latchkey_removal_last_success_timestamp_seconds',
    'Time of the last successful removal; one begins every half minute.',
    'table',
  );
  const durations = meter.histogram(
    'latchkey_removal_duration_seconds',
    'Duration of a removal.',
    RUN_SECONDS,
    'table',
  );
  events.on('removal.done', ({ table, removed: rows, ok, seconds }) => {
    removed.inc({ table }, rows);
    failures.inc({ table }, ok ? 0 : 1);
    if (ok) succeeded.setToCurrentTime({ table });
    durations.observe({ table }, seconds);
  });
}

function pool(meter: Meter, database: BoundedPool): void {
  meter.labelledGauge(
    'latchkey_database_connections',
    'Connections of the pool, by state: used or idle.',
    'state',
    function () {
      const { totalCount, idleCount } = database;
      this.set({ state: 'used' }, totalCount - idleCount);
      this.set({ state: 'idle' }, idleCount);
    },
  );
  meter.gauge(
    'latchkey_database_connections_max',
    'Connections that the pool may have (DATABASE_POOL_SIZE).',
    () => database.options.max,
  );
  meter.gauge(
    'latchkey_database_waiting',
    'Statements that wait for a connection of the pool.',
    () => database.waitingCount,
  );
}
