import fc from 'fast-check';
import { expectPublished } from './keys.js';
import { DAY, HOUR, KEY_LEAD, MINUTE, type Specification } from './specification.js';
import { step, which } from './step.js';
import type { World } from './world.js';

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

/** Turns it, and learns of a key that has been made because the last one is 90 days old (contract §5). */
export async function turnTo(time: number, model: Specification, world: World): Promise<void> {
  model.now = time;
  const isDue = model.isRotationDue;
  await world.turnTo(time);
  const { body } = await world.call(0, 'GET', '/.well-known/jwks.json');
  const known = new Set(model.keys.map(({ kid }) => kid));
  const made = (body['keys'] as { kid: string }[]).filter(({ kid }) => !known.has(kid));
  expect(made).toHaveLength(isDue ? 1 : 0);
  for (const { kid } of made) model.keys.push({ kid, firstUse: time + KEY_LEAD, revoked: false });
  await expectPublished(model, world);
}
