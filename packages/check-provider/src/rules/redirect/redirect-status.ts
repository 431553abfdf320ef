import { fail, pass, skip, type Rule } from '../../rule.js';

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
