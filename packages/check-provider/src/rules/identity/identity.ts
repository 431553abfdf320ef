import type { Evidence } from '../../evidence.js';
import { isSuccess, membersOf } from '../../reply.js';

/** The members of the first identity; undefined when none was given. */
export function identityOf({ exchanges: { first } }: Evidence): Record<string, unknown> | undefined {
  return first && isSuccess(first) ? membersOf(first) : undefined;
}

export const NO_IDENTITY = 'no identity was given';
