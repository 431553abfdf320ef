import { quote } from '../../quote.js';
import { fail, pass, skip, type Rule } from '../../rule.js';
import { isWilling } from '../../sign-ins.js';
import { frameOptions } from './frame-options.js';

/** The specification forbids DENY only, but SAMEORIGIN shuts out an application on another origin just as well. */
export const frameOptionsOther: Rule = {
  id: 'frame-options-other',
  clause: '§4.5.1 (4)',
  title: 'no other X-Frame-Options either',
  level: 'advice',
  run({ landing }) {
    if (!isWilling(landing)) return skip('there was no login page');
    const others = frameOptions(landing.headers).filter((value) => value !== 'DENY');
    if (others.length === 0) return pass('none');
    const seen = `X-Frame-Options: ${quote(others.join(', '))}`;
    return fail(seen, 'leave it out: an application on another origin cannot show the page in its frame');
  },
};
