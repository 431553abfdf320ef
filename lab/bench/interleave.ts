import type { TargetTurns } from './report.js';
import { measure, type Measured, type Turn, type TurnPlan } from './turn.js';

/** Each round gives each target a turn, and begins with another target: none profits from its place in the order. */
export async function interleave(
  targets: readonly Measured[],
  plan: TurnPlan,
  rounds: number,
): Promise<TargetTurns[]> {
  const turns = new Map<Measured, Turn[]>(targets.map((target) => [target, []]));
  for (let round = 0; round < rounds; round++) {
    const first = round % targets.length;
    for (const target of [...targets.slice(first), ...targets.slice(0, first)]) {
      turns.get(target)!.push(await measure(target, plan));
    }
  }
  return targets.map((target) => ({ target: target.name, turns: turns.get(target)! }));
}
