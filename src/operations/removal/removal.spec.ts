import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { Background } from '../../platform/background.js';
import { Events } from '../../platform/events.js';
import { ExpiredRows, type Batch, type ExpiringTable } from './expired-rows.js';
import { Removal } from './removal.js';

const RETENTION = { auditRetentionDays: 90 };
const NO_ROWS: Batch = { removed: 0, next: null };
const REFUSED = Object.assign(new Error('a trigger refuses the row'), { code: 'P0001' });
const dataSource = {
  entityMetadatas: [],
  query: async () => [{ behind: 'behind' }],
} as unknown as DataSource;
const tables: ExpiringTable[] = [
  { table: 'tokens', key: 'id', first: true },
  { table: 'others', key: 'id' },
];

function removalWith(removeBatch: ExpiredRows['removeBatch']): Removal {
  const removal = new Removal(
    { size: 1000, largest: 1000, removeBatch },
    dataSource,
    new Events(),
    RETENTION,
    new Background(),
  );
  Object.assign(removal, { tables });
  return removal;
}

beforeEach(() => void jest.spyOn(Logger.prototype, 'debug').mockReturnValue());
afterEach(() => void jest.restoreAllMocks());

it('repeats a batch that fails with fewer rows, then skips one row and goes on behind it', async () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  const calls: [number, string][] = [];
  const removed = await removalWith(async (_table, size, from) => {
    calls.push([size, from]);
    if (from === '-infinity') throw REFUSED;
    return { removed: size, next: calls.length === 7 ? null : 'later' };
  }).run(tables.slice(0, 1));
  expect(removed).toEqual({ tokens: 7 });
  expect(calls).toEqual([
    [1000, '-infinity'],
    [125, '-infinity'],
    [15, '-infinity'],
    [1, '-infinity'],
    [1, 'behind'],
    [2, 'later'],
    [4, 'later'],
  ]);
  expect(warn).toHaveBeenCalledTimes(1);
});

it.each([
  ['if the database is away', '08006', 1],
  ['after 20 failures in a row', 'P0001', 21],
])('leaves a table until the next run %s; other tables do not wait', async (_when, code, calls) => {
  jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  let failures = 0;
  const removed = await removalWith(async ({ table }) => {
    if (table === 'others') return { removed: 5, next: null };
    failures++;
    throw Object.assign(new Error('x'), { code });
  }).run(tables);
  expect(removed).toEqual({ others: 5 });
  expect(failures).toBe(calls);
});

it('begins a run behind the rows that stopped the last one, and the run after that at the oldest row', async () => {
  jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  const calls: string[] = [];
  let fails = true;
  const removal = removalWith(async (_table, _size, from) => {
    calls.push(from);
    if (fails) throw REFUSED;
    return NO_ROWS;
  });
  await removal.run(tables.slice(0, 1));
  fails = false;
  calls.length = 0;
  for (let run = 0; run < 2; run++) await removal.run(tables.slice(0, 1));
  expect(calls).toEqual(['behind', '-infinity']);
});

it('pauses between batches as long as a batch took, but one second at most', async () => {
  let now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  const began: number[] = [];
  await removalWith(async () => {
    now += began.length === 0 ? 40 : 60_000;
    began.push(Date.now());
    return { removed: 1, next: began.length === 3 ? null : 'later' };
  }).run(tables.slice(0, 1));
  const [first, second, third] = began as [number, number, number];
  expect(second - first).toBeGreaterThanOrEqual(39);
  expect(third - second).toBeGreaterThanOrEqual(990);
  expect(third - second).toBeLessThan(20_000);
});

it('runs within a minute until the service stops; access tokens wait for no other table', async () => {
  jest.useFakeTimers();
  const calls = { tokens: 0, others: 0 };
  const removal = removalWith(({ table }) => {
    calls[table as keyof typeof calls]++;
    return table === 'others' ? new Promise(() => undefined) : Promise.resolve(NO_ROWS);
  });
  removal.onApplicationBootstrap();
  await jest.advanceTimersByTimeAsync(4 * 40_000);
  expect(calls.tokens).toBeGreaterThanOrEqual(4);
  expect(calls.others).toBe(1);
  void removal.beforeApplicationShutdown();
  const before = calls.tokens;
  await jest.advanceTimersByTimeAsync(120_000);
  expect(calls.tokens).toBe(before);
  jest.useRealTimers();
});
