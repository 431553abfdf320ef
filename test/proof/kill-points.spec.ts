import { setTimeout as delay } from 'node:timers/promises';
import { halfSignIns } from '../support/crowd-of-sign-ins.js';
import { needs } from '../support/installed.js';
import { isFull, reportFigure } from '../support/proof.js';
import { EXCHANGE_POINTS } from './world/exchange-points.js';
import type { KillPoint, Scene } from './world/kill-point.js';
import { inRounds, killAt } from './world/kill-round.js';
import { PUSH_POINTS, pushedTo } from './world/push-points.js';
import { REFRESH_POINTS } from './world/refresh-points.js';
import { SignInLoad } from './world/sign-in-load.js';
import { World } from './world/world.js';

const KILLS_AT_EACH = 20;
const RANDOM_KILLS = 20;
/** What a busy machine may miss for each that it shows. */
const MOST_MISSED = 3;

/** The service is killed at named points inside its requests (security.md, P4), and serves again by itself. */
describe('kills inside an exchange', () => {
  let world: World;
  let kills = 0;
  let missed = 0;
  /** How often the service was killed at each point. */
  const shown = new Map<KillPoint, number>();

  beforeAll(async () => {
    // Nothing is trimmed: each sign-in is in its user's history.
    world = await World.start({ redis: false, instances: 2, env: { CHANNEL_HISTORY: '1000000' } });
  }, 120_000);
  afterAll(() => world?.stop());

  /** Each instance is killed in its turn. */
  function scene(): Scene {
    const [victim, other] = kills++ % 2 === 0 ? world.instances : world.instances.toReversed();
    return { world, victim: victim!, other: other! };
  }

  /** Kills the service at all of these points, with as many kills as need be. */
  async function killAtAll(points: readonly KillPoint[]): Promise<void> {
    const rounds = inRounds(points);
    const most = missed + MOST_MISSED * points.length;
    for (let round = rounds.shift(); round; round = rounds.shift()) {
      const left = await killAt(round, scene());
      missed += left.length;
      if (missed > most) throw new Error(`not reached: ${left.map(({ name }) => name).join('; ')}`);
      for (const point of round) shown.set(point, (shown.get(point) ?? 0) + Number(!left.includes(point)));
      if (left.length > 0) rounds.push(...inRounds(left));
    }
  }

  async function nothingIsHalfWritten(): Promise<void> {
    const halves = (await halfSignIns(world.databaseUrl())) as { user_id: string }[];
    expect(halves.filter(({ user_id }) => !pushedTo.has(user_id))).toEqual([]);
  }

  const shownOf = (points: readonly KillPoint[]): number =>
    points.reduce((sum, point) => sum + (shown.get(point) ?? 0), 0);

  const tell = (what: string, figure: string, wanted?: string): void =>
    reportFigure({ part: 'kill-points', what, figure, ...(wanted !== undefined && { wanted }) });

  needs({ 'a short run': !isFull }).it(
    'leave nothing half-written, and no code or state that is good twice',
    async () => {
      await killAtAll([...PUSH_POINTS, ...REFRESH_POINTS, ...EXCHANGE_POINTS.toReversed()]);
      await nothingIsHalfWritten();
      tell('kills; points of requests at which they were', `${kills}; ${shown.size}`);
    },
    120_000,
  );

  needs({ 'npm run test:proof': isFull }).it(
    '… also while others sign in, and at any other moment',
    async () => {
      const load = new SignInLoad(world);
      for (let turn = 0; turn < KILLS_AT_EACH; turn++) {
        for (const [i, point] of EXCHANGE_POINTS.entries()) {
          const beside = [PUSH_POINTS, REFRESH_POINTS].map((points) => points[(turn + i) % points.length]!);
          await load.beside(() => killAtAll([...beside, point]));
        }
        await nothingIsHalfWritten();
      }
      for (let kill = 0; kill < RANDOM_KILLS; kill++) {
        await load.beside(async () => {
          await delay(200 + Math.random() * 1000);
          await killAt([], scene());
        });
      }
      await nothingIsHalfWritten();
      const points = EXCHANGE_POINTS.length;
      tell('kills of the service', String(kills));
      tell(`kills inside an exchange, at ${points} points`, String(shownOf(EXCHANGE_POINTS)), '≥ 200');
      tell('kills inside a refresh; inside a push', `${shownOf(REFRESH_POINTS)}; ${shownOf(PUSH_POINTS)}`);
      tell('exchanges with another end than the table allows', '0', '0');
      tell(
        'sign-ins that were acknowledged meanwhile; of them gone',
        `${load.acknowledged}; ${load.lost}`,
        '…; 0',
      );
      tell('sessions of which a part is missing', '0', '0');
      tell('requests that had gone on before the kill, and were repeated', String(missed));
      expect(load.lost).toBe(0);
    },
    90 * 60_000,
  );
});
