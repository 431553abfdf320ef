import type { Clock } from '../platform/database/clock.js';
import type { Sql } from '../platform/database/sql.js';
import { SignInCounts } from './sign-in-counts.js';

it('the hour that has just begun has a count', async () => {
  let time = Date.parse('2026-11-27T08:59:59Z');
  const counts = new SignInCounts(
    { query: () => Promise.resolve([]) } as unknown as Sql,
    { now: () => time } as Clock,
    { providers: new Map() },
  );
  await counts.read();
  time += 2000; // sooner than the next reading
  expect((await counts.read()).at(-1)).toEqual({ hour: Date.parse('2026-11-27T09:00:00Z'), counts: [] });
});
