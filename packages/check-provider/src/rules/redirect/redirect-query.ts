import { parametersOf, queryOf } from '../../arrival.js';
import { fail, pass, skip, type Rule } from '../../rule.js';

export const redirectQuery: Rule = {
  id: 'redirect-query',
  clause: 'RFC 6749 §3.1.2',
  title: 'a query of the redirect URI is kept',
  level: 'advice',
  run({ arrival, odd }) {
    if (!arrival || !odd?.arrival) return skip('not tried');
    if (queryOf(arrival) === undefined) return skip('not even a plain redirect URI is kept');
    if (!odd.query) return skip('such a redirect URI is refused, which is allowed');
    const isKept = queryOf(odd.arrival) !== undefined && parametersOf(odd.arrival).has('code');
    return isKept
      ? pass('kept')
      : fail('lost or damaged', 'append with & where the redirect_uri has a ? already');
  },
};
