import { parametersOf, type Arrival } from '../../arrival.js';
import { fail, pass, skip, type Rule } from '../../rule.js';

/** The service sends only hex (spec §4.5.1), so this rule is only about correct URL building. */
export const stateAnyText: Rule = {
  id: 'state-any-text',
  clause: 'RFC 6749 §4.1.2',
  title: 'so does a state with & = % + and UTF-8',
  level: 'advice',
  run({ arrival, odd }) {
    if (!arrival || !odd?.arrival) return skip('not tried');
    if (stateOf(arrival) !== arrival.state) return skip('not even a plain state comes back');
    if (!odd.state) return skip('such a state is refused, which is allowed');
    const isSame = stateOf(odd.arrival) === odd.arrival.state;
    return isSame ? pass('unchanged') : fail('changed', 'percent-encode the state in the Location header');
  },
};

function stateOf(arrival: Arrival): string | null {
  return parametersOf(arrival).get('state');
}
