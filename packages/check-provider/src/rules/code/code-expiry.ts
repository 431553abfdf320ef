import { describe, isSuccess } from '../../reply.js';
import { fail, pass, skip, type Rule } from '../../rule.js';

/** The specification only recommends ten minutes. */
export const codeExpiry: Rule = {
  id: 'code-expiry',
  clause: '§4.5.2',
  title: 'a code expires within 10 minutes',
  level: 'advice',
  run({ exchanges: { late } }) {
    if (!late) return skip('not tried: --slow waits for it');
    if (!isSuccess(late)) return pass(describe(late));
    return fail(`${describe(late)} after 10 minutes`, 'let codes expire: one minute is plenty');
  },
};
