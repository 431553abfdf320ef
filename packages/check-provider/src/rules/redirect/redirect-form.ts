import { parametersOf, queryOf, type Arrival } from '../../arrival.js';
import { quote } from '../../quote.js';
import { fail, pass, skip, type Rule } from '../../rule.js';

export const redirectForm: Rule = {
  id: 'redirect-form',
  clause: '§4.5.1 (3)',
  title: 'to <redirect_uri>?code=<code>&state=<state>',
  level: 'required',
  run({ arrival, misread }) {
    if (!arrival) return skip('nobody was sent back');
    if (misread !== undefined) {
      const encoded = encodeURIComponent(misread);
      return fail(
        `a ${misread} in the code that is not encoded, so that clients read another code`,
        `percent-encode the code: ${misread} as ${encoded} (encodeURIComponent), or make codes of letters, digits, - and _`,
      );
    }
    const query = queryOf(arrival);
    const names = [...new URLSearchParams(query ?? '').keys()];
    if (query !== undefined && names.join() === 'code' && /^code=[^&#]+$/.test(query)) {
      return skip('there is no state: see "the state comes back unchanged"');
    }
    if (query !== undefined && /^code=[^&#]+&state=[^&#]*$/.test(query)) return pass(shapeOf(arrival));
    return fail(
      shapeOf(arrival),
      'append ?code=<code>&state=<state> to the redirect_uri as it came, and nothing else',
    );
  },
};

/** The address with the values of its parameters left out: a code is a secret. */
function shapeOf(arrival: Arrival): string {
  const [before = ''] = arrival.url.split(/[?#]/);
  const names = [...parametersOf(arrival).keys()].map((name) => `${name}=...`);
  const fragment = arrival.url.includes('#') ? '#...' : '';
  return quote(before + (names.length > 0 ? `?${names.join('&')}` : '') + fragment);
}
