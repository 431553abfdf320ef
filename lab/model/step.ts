import fc, { type Arbitrary, type AsyncCommand } from 'fast-check';
import type { Specification } from './specification.js';
import type { Answer, At, World } from './world.js';

export type Step = AsyncCommand<Specification, World>;

interface Parts<Args> {
  /** Whether it can be done at all; left out: always. */
  readonly needs?: (model: Specification) => boolean;
  readonly run: (args: Args, model: Specification, world: World) => Promise<void>;
}

export function step<Args>(
  name: string,
  args: { readonly [Name in keyof Args]: Arbitrary<Args[Name]> },
  { needs = () => true, run }: Parts<Args>,
): Arbitrary<Step> {
  return fc.record(args).map((drawn) => ({
    check: needs,
    async run(model, world) {
      world.counts.set(name, (world.counts.get(name) ?? 0) + 1);
      await run(drawn as Args, model, world);
    },
    toString: () => `${name}(${fc.stringify(drawn)})`,
  }));
}

/** Which instance serves. */
export const at: Arbitrary<At> = fc.constantFrom(0, 1);

export const which = fc.oneof(fc.constant(0), fc.nat({ max: 15 }));

/**
 * @param all not empty, the oldest first
 * @param place counted from the newest
 */
export function pick<T>(all: readonly T[], place: number): T {
  return all[all.length - 1 - (place % all.length)]!;
}

/** Status of each refusal, by its code (docs/errors.md#codes-of-the-service). */
const REFUSALS = {
  invalid_request: 400,
  invalid_grant: 401,
  invalid_token: 401,
  invalid_dpop_proof: 400,
  not_found: 404,
} as const;

export type Refusal = keyof typeof REFUSALS;

/** That a call was refused for one of these reasons. */
export function expectRefusal({ status, body }: Answer, ...reasons: readonly Refusal[]): void {
  const texts = { error: body['error'], error_description: expect.any(String) as unknown };
  expect(body).toEqual(texts);
  expect(reasons).toContain(body['error']);
  expect(status).toBe(REFUSALS[body['error'] as Refusal]);
}
