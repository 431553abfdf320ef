import { COUNTED, KINDS } from './clients/kinds.js';
import { allowedOf, LIMITS } from './limits.js';
import type { Sample } from './series.js';
import type { Recording } from './soak.js';

/** By name of the series. */
export type Values = Record<string, number>;

const MINUTES = 45;
export const WARM_UP = 12;
const REPORTS = 9;
const LIMIT = 60;

/** Tables whose rows come and go: how many are written in a minute, and how many there are at a time. */
const TABLES = {
  access_tokens: [3600, 5400],
  authorization_codes: [120, 50],
  authorization_states: [1300, 300],
  channel_events: [2000, 6000],
  channels: [120, 370],
  devices: [120, 570],
  idempotency_keys: [120, 450],
  logout_tokens: [180, 500],
  presence: [300, 150],
  refresh_tokens: [900, 8000],
  sample_codes: [120, 50],
  users: [120, 370],
} as const;

export const TABLE_NAMES = Object.keys(TABLES) as (keyof typeof TABLES)[];

/** How many rows of a table one in so many of those that are written is, each minute. */
export function oneIn(share: number, table: keyof typeof TABLES): number {
  return TABLES[table][0] / share;
}

export const IDLE: Values = {
  'a sockets': 0,
  'b sockets': 0,
  'a streams': 0,
  'b streams': 0,
  'a files': 24,
  'b files': 24,
  'a pool': 1,
  'b pool': 1,
  'database connections': 2,
  'overdue channel_events': 0,
  'rows instances': 2,
  'rows signing_keys': 1,
  'redis keys': 0,
  ...Object.fromEntries(TABLE_NAMES.map((table) => [`rows ${table}`, 0])),
};

/** Three a minute; a soak has twelve. */
const EVERY_MINUTES = 1 / 3;

const GOOD: readonly Sample[] = Array.from({ length: MINUTES / EVERY_MINUTES }, (_, i) => {
  const minutes = i * EVERY_MINUTES;
  return { minutes, values: { ...ofInstances(i), ...ofTables(i, minutes) } };
});

/** What a service without a fault shows. @param more is added to each sample, and may depend on its minute */
export function recording(more: (minutes: number) => Values = () => ({})): Recording {
  const samples = GOOD.map(({ minutes, values }) => {
    const added = Object.entries(more(minutes)).map(([name, value]) => [name, (values[name] ?? 0) + value]);
    return { minutes, values: { ...values, ...(Object.fromEntries(added) as Values) } };
  });
  const one = { count: 2000, p50: 2.1, p99: 9.5, max: 30 };
  const limits = LIMITS.flatMap((limit) => [
    [`beyond ${limit}: let through`, 100],
    [`beyond ${limit}: refused`, 100],
  ]);
  const report = {
    latencies: Object.fromEntries(KINDS.map((kind) => [kind, one])),
    unexpected: {},
    counts: Object.fromEntries([...COUNTED.map((what) => [what, 10]), ...limits]) as Values,
  };
  return {
    before: { minutes: 0, values: IDLE },
    after: { minutes: 56, values: { ...IDLE, 'rows users': 300, 'rows channels': 300, 'rows devices': 500 } },
    samples,
    reports: Array.from({ length: REPORTS }, () => report),
    errors: [],
    exitCodes: [0, 0],
    rotations: 5,
    allowed: allowedOf(LIMIT, true),
    residents: { users: 311, devices: 511 },
    hasRedis: true,
  };
}

function ofInstances(i: number): Values {
  const saw = (i * 7) % 30; // garbage that is collected
  const [ofA, ofB] = [98 + (i % 5), 97 + (i % 6)];
  return {
    'a rss MiB': 180 + (saw % 5),
    'b rss MiB': 185 - (saw % 4),
    'a heap MiB': 60 + saw,
    'b heap MiB': 61 + saw,
    'a heap reserved MiB': 95,
    'b heap reserved MiB': 95,
    'a external MiB': 6,
    'b external MiB': 6,
    'a file pages MiB': 48,
    'b file pages MiB': 48,
    'a sockets': ofA,
    'b sockets': ofB,
    'a streams': 1,
    'b streams': 1,
    'a files': 50 + ofA + (i % 4),
    'b files': 50 + ofB + (i % 3),
    'a pool': 8,
    'b pool': 7,
    'database connections': 15,
    'redis keys': 900 + saw,
    'redis keys expired': i * 300,
  };
}

/** Not level before the warm-up is over. */
function ofTables(i: number, minutes: number): Values {
  const values: Values = {
    'overdue channel_events': 0,
    'rows instances': 2,
    'rows signing_keys': 1 + Math.min(5, Math.ceil(minutes / 10)),
  };
  for (const table of TABLE_NAMES) {
    const [aMinute, level] = TABLES[table];
    const written = Math.floor(aMinute * minutes);
    const rows = Math.min(written, level) + (i % 9); // those that expire are removed every half minute
    Object.assign(values, {
      [`rows ${table}`]: rows,
      [`written ${table}`]: written,
      [`removed ${table}`]: Math.max(0, written - rows),
      [`dead ${table}`]: 50 + (i % 30),
      [`MiB ${table}`]: 3,
    });
  }
  return values;
}
