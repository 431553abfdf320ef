import assert from 'node:assert/strict';
import type { ProviderIdentity } from '../provider-adapter.js';
import { CODE, isIn, SECRET } from './secrets.js';

export type Thrown = Error & { readonly error?: unknown };

/** How it ended, one of the two. */
export async function outcome(
  work: Promise<ProviderIdentity>,
): Promise<[ProviderIdentity | undefined, Thrown | undefined]> {
  return work.then(
    (identity) => [identity, undefined],
    (thrown: unknown) => [undefined, judged(thrown)],
  );
}

/** What it failed with. @throws when it did not */
export async function failure(work: Promise<ProviderIdentity>): Promise<Thrown> {
  const [identity, error] = await outcome(work);
  assert.ok(error, `it resolved with ${JSON.stringify(identity)}`);
  return error;
}

/** What an adapter throws is logged, with its causes: errors, and nothing secret in their messages. */
function judged(thrown: unknown): Thrown {
  assert.equal(typeof (thrown as Thrown | null)?.message, 'string', 'what it threw is not an Error');
  for (let at = thrown, depth = 0; depth < 5; depth++) {
    const { message, cause } = (at ?? {}) as Partial<Thrown>;
    for (const [name, secret] of Object.entries({ 'client secret': SECRET, code: CODE })) {
      assert.ok(!isIn(secret, message ?? ''), `a message holds the ${name}`);
    }
    at = cause;
  }
  return thrown as Thrown;
}
