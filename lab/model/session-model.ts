import fc, { type IAsyncPropertyWithHooks } from 'fast-check';
import { sequences } from './commands.js';
import { turnTo } from './keys.js';
import { HOUR, Specification, type Key } from './specification.js';
import type { Step } from './step.js';
import { refreshAt } from './refresh.js';
import { askMe } from './tokens.js';
import type { World } from './world.js';

export function sessionModel(world: World, replayPath?: string): IAsyncPropertyWithHooks<[Iterable<Step>]> {
  return fc.asyncProperty(sequences(replayPath), (steps) => world.alone(() => compare(world, steps)));
}

async function compare(world: World, steps: Iterable<Step>): Promise<void> {
  const model = await beginRun(world);
  await fc.asyncModelRun(() => ({ model, real: world }), steps);
  for (const at of [0, 1] as const) {
    for (const token of model.tokens.slice(-8)) await askMe(at, token, model, world);
    for (const session of model.sessions.slice(-4)) await refreshAt(at, session, model, world);
  }
}

/** Nothing of former sequences is alive: their users have other names, their tokens have expired, one key signs. */
async function beginRun(world: World): Promise<Specification> {
  world.run++;
  const model = new Specification(world.clock.now(), await keysOf(world));
  await turnTo(model.now + 2 * HOUR, model, world);
  const { signing, waiting } = model;
  const keys = model.keys.filter((key) => key === signing || key === waiting);
  await world.forgetOtherKeys(keys.map(({ kid }) => kid));
  return new Specification(model.now, keys);
}

async function keysOf(world: World): Promise<Key[]> {
  return (await world.keys()).map(({ kid, activeAt, revokedAt }) => ({
    kid,
    firstUse: activeAt.getTime(),
    revoked: revokedAt !== null,
  }));
}
