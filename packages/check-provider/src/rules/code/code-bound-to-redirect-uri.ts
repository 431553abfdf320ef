import { describe, isSuccess } from '../../reply.js';
import { fail, pass, skip, type Rule } from '../../rule.js';

export const codeBoundToRedirectUri: Rule = {
  id: 'code-bound-to-redirect-uri',
  clause: 'RFC 6749 §4.1.3',
  title: 'a code is of no use with another redirect_uri',
  level: 'advice',
  run({ exchanges: { otherRedirectUri: reply } }) {
    if (!reply) return skip('not tried');
    if (!isSuccess(reply)) return pass(describe(reply));
    return fail(
      describe(reply),
      'keep the redirect_uri with the code, and answer another one with invalid_grant',
    );
  },
};
