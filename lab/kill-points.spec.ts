import { halfSignIns } from '../test/support/crowd.js';
import { options, report } from './options.js';
import { EXCHANGE_POINTS } from './world/exchange-points.js';
import { killAt } from './world/kill-point.js';
import { World } from './world/world.js';

/** Attempts to reach a point: a busy machine may miss some. */
const ATTEMPTS = 5;

describe('kills inside a sign-in', () => {
  let world: World;

  beforeAll(async () => {
    // No event is trimmed: each sign-in is in its user's history.
    world = await World.start({ redis: false, instances: 2, env: { CHANNEL_HISTORY: '1000000' } });
  });
  afterAll(() => world?.stop());

  it('leave no half-written session, and no code or state that is valid twice', async () => {
    const end = performance.now() + (options.minutes ?? 0) * 60_000;
    const shown = new Map<string, number>();
    let kills = 0;
    do {
      for (const point of EXCHANGE_POINTS) {
        let isShown = false;
        for (let left = ATTEMPTS; left > 0 && !isShown; left--) {
          const [victim, other] = kills++ % 2 === 0 ? world.instances : world.instances.toReversed();
          isShown = await killAt(point, { world, victim: victim!, other: other! });
        }
        if (!isShown) throw new Error(`${point.name}: never reached`);
        shown.set(point.name, (shown.get(point.name) ?? 0) + 1);
      }
      expect(await halfSignIns(world.databaseUrl())).toEqual([]);
    } while (performance.now() < end);
    report('kills; points', `${kills}; ${shown.size}`);
    for (const [name, count] of shown) report(name, count);
  });
});
