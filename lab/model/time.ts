import fc from 'fast-check';
import { turnTo } from './keys.js';
import { DAY, HOUR, MINUTE, type Specification } from './specification.js';
import { pick, step, which } from './step.js';

interface Edge {
  /** The next moment at which something ends or begins, or one after it … */
  readonly moment: number;
  /** … and how many milliseconds later. */
  readonly off: number;
}

/** The end of a session's refresh token, which only few commands are near otherwise. */
interface End {
  readonly session: number;
  readonly off: number;
}

const HALF_AN_HOUR = 30 * MINUTE;

/** Turns the clock: by a while, or to just before, on or after a moment at which something ends or begins. */
export const turnClock = step<{ by: number | Edge | End }>(
  'turnClock',
  {
    by: fc.oneof(
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 1, max: 60 }).map((minutes) => minutes * MINUTE),
      fc.integer({ min: 1, max: 24 }).map((hours) => hours * HOUR),
      fc.integer({ min: 1, max: 31 }).map((days) => days * DAY),
      { weight: 5, arbitrary: fc.record({ moment: fc.nat({ max: 15 }), off: fc.constantFrom(-1, 0, 1) }) },
      {
        weight: 3,
        arbitrary: fc.record({ session: which, off: fc.constantFrom(-HALF_AN_HOUR, -1, 0, HALF_AN_HOUR) }),
      },
    ),
  },
  { run: ({ by }, model, world) => turnTo(timeOf(by, model), model, world) },
);

function timeOf(by: number | Edge | End, { now, moments, sessions }: Specification): number {
  if (typeof by === 'number') return now + by;
  if ('session' in by)
    return sessions.length === 0 ? now : Math.max(now, pick(sessions, by.session).expires + by.off);
  const moment = moments[by.moment % moments.length] ?? now;
  return Math.max(now, moment + by.off);
}
