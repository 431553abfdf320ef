import fc, { type IAsyncPropertyWithHooks } from 'fast-check';
import { sequences, type Command } from './commands.js';
import { turnTo } from './keys.js';
import { HOUR, Specification, type Key } from './specification.js';
import { AT_THE_END, shows, type Sign } from './sign.js';
import type { Step } from './step.js';
import { refreshAt } from './refresh.js';
import { askMe } from './tokens.js';
import type { World } from './world.js';

const AT_THE_BEGIN = 'at the begin';

interface Looking {
  /** The commands that are drawn: all unless some are named. */
  readonly of?: readonly Command[] | undefined;
  /** Of a sequence that has failed. */
  readonly replayPath?: string | undefined;
  /** What is looked for: whatever else fails is no find, and the sequence is given up. Left out: whatever fails. */
  readonly sign?: Sign | undefined;
}

/**
 * Whatever is done, in whatever order, on whichever instance and at whatever time: the service does what the model does.
 */
export function sessionModel(
  world: World,
  { of, replayPath, sign }: Looking = {},
): IAsyncPropertyWithHooks<[Iterable<Step>]> {
  return fc.asyncProperty(sequences(of, replayPath), (steps) =>
    world.alone(async () => {
      try {
        await compare(world, steps);
      } catch (error) {
        if (!sign || fc.PreconditionFailure.isFailure(error)) throw error;
        const isFound = shows(sign, world.doing, error);
        if (!isFound) world.otherFailures++;
        fc.pre(isFound);
        throw error;
      }
    }),
  );
}

async function compare(world: World, steps: Iterable<Step>): Promise<void> {
  world.doing = AT_THE_BEGIN;
  const model = await beginRun(world);
  await fc.asyncModelRun(() => ({ model, real: world }), steps);
  world.doing = AT_THE_END;
  // Whatever a sequence has left: each token is good everywhere, or nowhere.
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
