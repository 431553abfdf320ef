import { quote } from '../../quote.js';
import { fail, pass, skip, type Rule } from '../../rule.js';
import { isWilling } from '../../sign-ins.js';

const WANTED = 'text/html; charset=utf-8';
// Letter case and spaces do not matter (RFC 9110 §8.3.1).
const SAME = /^text\/html\s*;\s*charset="?utf-8"?$/i;

export const pageContentType: Rule = {
  id: 'page-content-type',
  clause: '§4.5.1 (5)',
  title: `the page is ${WANTED}`,
  level: 'required',
  run({ landing }) {
    if (!isWilling(landing)) return skip('there was no login page');
    const type = landing.headers.get('Content-Type');
    if (type === null && landing.kind === 'callback') return pass('a redirect without a body');
    if (type !== null && SAME.test(type.trim())) return pass(type);
    return fail(
      type === null ? 'no Content-Type' : `Content-Type: ${quote(type)}`,
      `send Content-Type: ${WANTED}`,
    );
  },
};
