import { halfSignIns } from '../test/support/crowd.js';
import { options, report } from './options.js';
import { EXCHANGE_POINTS } from './world/exchange-points.js';
import type { KillPoint, Scene } from './world/kill-point.js';
import { inRounds, killAt } from './world/kill-round.js';
import { World } from './world/world.js';

const POINTS = EXCHANGE_POINTS.toReversed();
/** Failed attempts to reach a point that a busy machine may cause, for each point. */
const MOST_MISSED = 3;

describe('kills inside a request', () => {
  let world: World;
  let kills = 0;
  let missed = 0;
  /** Number of kills at each point. */
  const shown = new Map<KillPoint, number>();

  beforeAll(async () => {
    // No event is trimmed: each sign-in is in its user's history.
    world = await World.start({ redis: false, instances: 2, env: { CHANNEL_HISTORY: '1000000' } });
  });
  afterAll(() => world?.stop());

  /** Instances are killed in turn. */
  function scene(): Scene {
    const [victim, other] = kills++ % 2 === 0 ? world.instances : world.instances.toReversed();
    return { world, victim: victim!, other: other! };
  }

  /** Kills the service at all of these points, with as many kills as needed. */
  async function killAtAll(points: readonly KillPoint[]): Promise<void> {
    const rounds = inRounds(points);
    const most = missed + MOST_MISSED * points.length;
    for (let round = rounds.shift(); round; round = rounds.shift()) {
      const left = await killAt(round, scene());
      missed += left.length;
      for (const point of round) shown.set(point, (shown.get(point) ?? 0) + Number(!left.includes(point)));
      if (missed > most) {
        const never = points.filter((point) => !shown.get(point)).map(({ name }) => name);
        throw new Error(`missed ${missed} times; never reached: ${never.join('; ')}`);
      }
      rounds.push(...left.map((point) => [point])); // each alone: a busy machine brings few there within a second
    }
    expect(await halfSignIns(world.databaseUrl())).toEqual([]);
  }

  it('leave no half-written session, and no code or state that is valid twice', async () => {
    const end = performance.now() + (options.minutes ?? 0) * 60_000;
    await killAtAll(POINTS);
    while (performance.now() < end) await killAtAll(POINTS);
    report('kills; points', `${kills}; ${shown.size}`);
    for (const [{ name }, count] of shown) report(name, count);
    report('points missed, and repeated', missed);
  });
});
