import { jest } from '@jest/globals';
import { Deadlines } from './connection-registry.js';

const TICK_MS = 250;
const YEAR_MS = 365 * 86_400_000;

/** The clock is the database's: this instance's knowledge of it may be corrected while deadlines wait. */
describe('a deadline', () => {
  const start = 1_800_000_000_000;
  let correction: number;
  let met: [item: object, at: number][];
  let deadlines: Deadlines<object>;
  const now = (): number => Date.now() + correction;
  const item = {};

  beforeEach(() => {
    jest.useFakeTimers({ now: start });
    correction = 0;
    met = [];
    deadlines = new Deadlines<object>(now, (due) => met.push([due, now()]));
  });
  afterEach(() => {
    deadlines.stop();
    jest.useRealTimers();
  });

  it.each([
    ['in an hour', 3_600_000],
    ['in some milliseconds', 7],
    ['that has passed', -5000],
    ['in more milliseconds than a timer can wait', YEAR_MS],
  ])('%s is met once, not early, and at most a tick late', (_name, inMs) => {
    deadlines.set(item, now() + inMs);
    jest.setSystemTime(start + inMs - TICK_MS);
    jest.advanceTimersByTime(3 * TICK_MS);
    expect(met).toEqual([[item, expect.any(Number)]]);
    const lateMs = met[0]![1] - (start + inMs);
    expect(lateMs).toBeGreaterThanOrEqual(0);
    if (inMs > 0) expect(lateMs).toBeLessThanOrEqual(TICK_MS);
  });

  it.each([5000, -5000, -YEAR_MS, YEAR_MS])('follows a clock that is corrected by %i ms', (by) => {
    jest.advanceTimersByTime(1000);
    correction = by;
    const dueAt = now() + 1000;
    deadlines.set(item, dueAt);
    jest.advanceTimersByTime(1000 - TICK_MS);
    expect(met).toEqual([]);
    jest.advanceTimersByTime(2 * TICK_MS);
    expect(met).toHaveLength(1);
    expect(met[0]![1] - dueAt).toBeLessThanOrEqual(TICK_MS);
  });

  it('is met when the corrected clock says so', () => {
    const dueAt = now() + 60_000;
    deadlines.set(item, dueAt);
    correction = 59_000;
    jest.advanceTimersByTime(1000 + TICK_MS);
    expect(met).toHaveLength(1);
  });

  it('that is set again, or deleted, is forgotten', () => {
    const renewed = {};
    deadlines.set(item, now() + 1000);
    deadlines.delete(item);
    deadlines.set(renewed, now() + 1000);
    deadlines.set(renewed, now() + 5000);
    jest.advanceTimersByTime(4000);
    expect(met).toEqual([]);
    jest.advanceTimersByTime(1000 + TICK_MS);
    expect(met).toEqual([[renewed, expect.any(Number)]]);
  });

  it('may be set from within one that is due', () => {
    const again = new Deadlines<object>(now, (due) => {
      met.push([due, now()]);
      if (met.length < 2) again.set(due, now() + 1000);
    });
    again.set(item, now());
    jest.advanceTimersByTime(TICK_MS);
    expect(met).toHaveLength(1);
    jest.advanceTimersByTime(1000);
    expect(met).toHaveLength(2);
    again.stop();
  });
});
