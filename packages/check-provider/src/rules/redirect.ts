import { type Arrival, codeOf, parametersOf, queryOf } from '../sign-in/arrival.js';
import { type Rule, fail, pass, quote, skip } from '../rule.js';

const MEND = 'send the browser to the callback with status 302';

/** A browser does not show which status it followed, but it does show that it came by POST. */
export const redirectStatus: Rule = {
  id: 'redirect-status',
  clause: '§4.5.1 (3)',
  title: 'the user is sent back with 302',
  level: 'required',
  run({ arrival }) {
    if (!arrival) return skip('nobody was sent back');
    const { status, method } = arrival;
    if (method !== 'GET') return fail(`the browser came back with ${method}: 307, 308, or a form`, MEND);
    if (status === undefined) return skip('a browser followed it, which does not show the status');
    return status === 302 ? pass('302') : fail(String(status), MEND);
  },
};

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

export const stateEcho: Rule = {
  id: 'state-echo',
  clause: '§4.5.1',
  title: 'the state comes back unchanged',
  level: 'required',
  run({ arrival, misread }) {
    if (!arrival) return skip('nobody was sent back');
    const [state, ...more] = parametersOf(arrival).getAll('state');
    const mend = 'echo the state of the request as it came, byte for byte';
    if (state === undefined && codeOf(arrival) === undefined)
      return skip('nothing came: see the form of the redirect');
    if (state === undefined && misread === '#')
      return skip('it is behind the #: see the form of the redirect');
    if (state === undefined) return fail('no state', mend);
    if (more.length > 0) return skip('it came more than once: see the form of the redirect');
    if (state === arrival.state) return pass(`${state.length} hex characters`);
    return fail(`another state, of ${state.length} instead of ${arrival.state.length} characters`, mend);
  },
};

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

export const redirectQuery: Rule = {
  id: 'redirect-query',
  clause: 'RFC 6749 §3.1.2',
  title: 'a query of the redirect URI is kept',
  level: 'advice',
  run({ arrival, odd }) {
    if (!arrival || !odd?.arrival) return skip('not tried');
    if (queryOf(arrival) === undefined) return skip('not even a plain redirect URI is kept');
    if (!odd.query) return skip('such a redirect URI is refused, which is allowed');
    const hasQuery = queryOf(odd.arrival) !== undefined && parametersOf(odd.arrival).has('code');
    return hasQuery
      ? pass('kept')
      : fail('lost or damaged', 'append with & where the redirect_uri has a ? already');
  },
};
