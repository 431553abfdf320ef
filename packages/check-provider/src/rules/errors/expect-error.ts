import { describe, errorOf, isAnswer, isSuccess, type Reply } from '../../reply.js';
import { fail, pass, skip, type Finding } from '../../rule.js';

export const NOT_TRIED = 'not tried: something before it went wrong';
export const UNREADABLE = 'its error cannot be read: see "errors are JSON"';

/** Judges whether the exchange refused with this error code of spec §7.3; other rules judge body and status. */
export function expectError(reply: Reply | undefined, error: string, mend: string): Finding {
  if (!reply) return skip(NOT_TRIED);
  if (!isAnswer(reply) || isSuccess(reply)) return fail(describe(reply), mend);
  const seen = errorOf(reply);
  if (seen === undefined) return skip(UNREADABLE);
  return seen === error ? pass(describe(reply)) : fail(describe(reply), mend);
}
