import { halfSignIns } from '../support/crowd-of-sign-ins.js';
import { reportFigure } from '../support/proof.js';
import { EXCHANGE_POINTS } from './world/exchange-points.js';
import { inRounds, killAt } from './world/kill-round.js';
import { PUSH_POINTS, pushedTo } from './world/push-points.js';
import { REFRESH_POINTS } from './world/refresh-points.js';
import { World } from './world/world.js';

/** The service is killed at named points inside its requests (security.md, P4). */
describe('kills inside an exchange', () => {
  let world: World;
  let kills = 0;

  beforeAll(async () => {
    world = await World.start({ redis: false, instances: 2 });
  });
  afterAll(() => world?.stop());

  const scene = () => {
    const [first, second] = world.instances;
    return kills % 2 === 0
      ? { world, victim: first!, other: second! }
      : { world, victim: second!, other: first! };
  };

  it('leave nothing half-written, and no code or state that is good twice', async () => {
    const all = [...PUSH_POINTS, ...REFRESH_POINTS, ...EXCHANGE_POINTS.toReversed()];
    let missed = 0;
    const waiting = inRounds(all);
    for (let round = waiting.shift(); round; round = waiting.shift()) {
      const left = await killAt(round, scene());
      kills++;
      missed += left.length;
      waiting.push(...inRounds(left).filter(({ length }) => length));
      if (missed > all.length * 3) throw new Error(`not reached: ${left.map(({ name }) => name).join('; ')}`);
    }
    const halves = (await halfSignIns(world.databaseUrl())) as { user_id: string }[];
    expect(halves.filter(({ user_id }) => !pushedTo.has(user_id))).toEqual([]);
    reportFigure({
      part: 'kill-points',
      what: 'points',
      figure: `${all.length}, ${kills} kills, ${missed} missed`,
    });
  });
});
