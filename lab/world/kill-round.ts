import { setTimeout as delay } from 'node:timers/promises';
import type { Attempt, KillPoint, Scene } from './kill-point.js';
import { patiently } from './patiently.js';

const REACHED_WITHIN_MS = 5000;

/** Statements of the database that may stand still at a time: all of them must have been reached within a second. */
const BRIEF_AT_ONCE = 4;

export function inRounds(points: readonly KillPoint[]): KillPoint[][] {
  const brief = points.filter(({ isBrief }) => isBrief);
  const rounds = Array.from(
    { length: Math.max(1, Math.ceil(brief.length / BRIEF_AT_ONCE)) },
    (): KillPoint[] => [],
  );
  const share = (some: readonly KillPoint[]): void =>
    some.forEach((point, i) => rounds[i % rounds.length]!.push(point));
  share(points.filter(({ isBrief }) => !isBrief));
  share(brief);
  return rounds.filter((round) => round.length > 0);
}

/**
 * Brings a request to each of some points, one after the other, and kills the service there. A request that was answered or given
 * up meanwhile shows nothing: on a busy machine those that stand at their points may stand there for longer than a second.
 * @returns the points that were missed
 * @throws what was found that is not allowed, with the name of the point
 */
export async function killAt(points: readonly KillPoint[], scene: Scene): Promise<KillPoint[]> {
  const { victim, world } = scene;
  const attempts: (Attempt & { readonly point: KillPoint; readonly isThere: boolean })[] = [];
  const prepared: [KillPoint, () => Attempt][] = [];
  for (const point of points) prepared.push([point, await patiently(() => point.prepare(scene))]);
  for (const [point, begin] of prepared) {
    const attempt = begin();
    const isThere = await Promise.race([
      attempt.reached.then(() => true),
      delay(REACHED_WITHIN_MS, false, { ref: false }),
    ]);
    attempts.push({ ...attempt, point, isThere });
  }
  const standing = attempts.filter((attempt) => attempt.isThere && !attempt.isMissed());
  await victim.end('SIGKILL');
  for (const attempt of standing) await named(attempt.point, attempt.settle());
  await Promise.all([victim.clients.restore(), victim.database.restore()]);
  await victim.start();
  for (const attempt of standing) await named(attempt.point, attempt.judge());
  world.provider.reset();
  const shown = new Set(standing.map(({ point }) => point));
  return points.filter((point) => !shown.has(point));
}

async function named(point: KillPoint, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    throw new Error(`${point.name}: ${(error as Error).message}`, { cause: error });
  }
}
