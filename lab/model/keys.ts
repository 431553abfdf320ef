import { KEY_LEAD, type Specification } from './specification.js';
import { at, pick, step, which } from './step.js';
import { unlessBusy, type At, type World } from './world.js';

/** A new key is published ten minutes before its first use (docs/keys.md#the-life-of-a-key). */
export const rotateKey = step<{ at: At }>(
  'rotateKey',
  { at },
  {
    async run(args, model, world) {
      const { kid, activeAt, made } = await unlessBusy(world.keyStore(args.at).rotate());
      const { waiting } = model;
      expect({ kid, made }).toEqual({ kid: waiting?.kid ?? kid, made: !waiting });
      if (!waiting) model.keys.push({ kid, firstUse: activeAt.getTime(), revoked: false });
      expect(model.keyOf(kid).firstUse).toBeGreaterThanOrEqual(made ? model.now + KEY_LEAD : model.now);
      await world.readKeys();
      await expectPublished(model, world);
    },
  },
);

/** Tokens of a revoked key are refused within 1 s (docs/keys.md#the-command). */
export const revokeKey = step<{ at: At; key: number }>(
  'revokeKey',
  { at, key: which },
  {
    async run(args, model, world) {
      const { kid, revoked } = pick(model.keys, args.key);
      const isNeeded = !revoked && kid === model.signing.kid;
      const successor = await unlessBusy(world.keyStore(args.at).revoke(kid));
      expect(successor !== undefined).toBe(isNeeded); // else another one signs
      if (successor) {
        model.keys.push({ kid: successor.kid, firstUse: successor.activeAt.getTime(), revoked: false });
      }
      model.keyOf(kid).revoked = true;
      await world.readKeys();
      await turnTo(model.now + 1000, model, world);
    },
  },
);

/**
 * Every instance publishes the keys of all good tokens and the next one, and none that was revoked
 * (docs/keys.md#the-life-of-a-key).
 */
async function expectPublished(model: Specification, world: World): Promise<void> {
  for (const to of [0, 1] as const) {
    const { body } = await world.call(to, 'GET', '/.well-known/jwks.json');
    const kids = new Set((body['keys'] as { kid: string }[]).map(({ kid }) => kid));
    const needed = model.tokens.filter((token) => model.isGood(token)).map(({ kid }) => kid);
    for (const kid of [...needed, model.signing.kid, ...(model.waiting ? [model.waiting.kid] : [])]) {
      expect(kids).toContain(kid);
    }
    for (const { kid, revoked } of model.keys) if (revoked) expect(kids).not.toContain(kid);
  }
}

/** Turns the clock, and learns of a key that has been made because the last one is 90 days old. */
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
