import fc from 'fast-check';
import { turnTo } from './keys.js';
import { DAY, HOUR, MINUTE, type Specification } from './specification.js';
import { step, which } from './step.js';

interface Edge {
  /** The next moment at which something ends or begins, or one after it … */
  readonly moment: number;
  /** … and how many milliseconds later. */
  readonly off: number;
}

/** Turns the clock: by a while, or to just before, on or after a moment at which something ends or begins. */
export const turnClock = step<{ by: number | Edge }>(
  'turnClock',
  {
    by: fc.oneof(
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 1, max: 60 }).map((minutes) => minutes * MINUTE),
      fc.integer({ min: 1, max: 24 }).map((hours) => hours * HOUR),
      fc.integer({ min: 1, max: 31 }).map((days) => days * DAY),
      { weight: 6, arbitrary: fc.record({ moment: which, off: fc.constantFrom(-1, 0, 1) }) },
    ),
  },
  { run: ({ by }, model, world) => turnTo(timeOf(by, model), model, world) },
);

function timeOf(by: number | Edge, { now, moments }: Specification): number {
  if (typeof by === 'number') return now + by;
  const moment = moments[by.moment % moments.length] ?? now;
  return Math.max(now, moment + by.off);
}
