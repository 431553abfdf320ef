import { describe, isSuccess } from '../../reply.js';
import { fail, pass, skip, type Rule } from '../../rule.js';

/** Not all providers need a redirect URI (spec §4.2); one that got it with the authorization request should require it here. */
export const redirectUriRequired: Rule = {
  id: 'redirect-uri-required',
  clause: 'RFC 6749 §4.1.3',
  title: 'the exchange asks for the redirect_uri',
  level: 'advice',
  run({ exchanges: { withoutRedirectUri: reply } }) {
    if (!reply) return skip('not tried');
    if (!isSuccess(reply)) return pass(describe(reply));
    return fail(describe(reply), 'answer an exchange without redirect_uri with invalid_request');
  },
};
