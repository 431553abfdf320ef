import { codeOf, parametersOf } from '../../arrival.js';
import { fail, pass, skip, type Rule } from '../../rule.js';

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
