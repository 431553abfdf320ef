import { fail, pass, skip, type Rule } from '../../rule.js';
import { isWilling } from '../../sign-ins.js';
import { frameOptions } from './frame-options.js';

export const frameOptionsDeny: Rule = {
  id: 'frame-options-deny',
  clause: '§4.5.1 (4)',
  title: 'the page sends no X-Frame-Options: DENY',
  level: 'required',
  run({ landing }) {
    if (!isWilling(landing)) return skip('there was no login page');
    const isDenied = frameOptions(landing.headers).includes('DENY');
    return isDenied
      ? fail('X-Frame-Options: DENY', 'leave the header out: the page is shown in an iframe')
      : pass('no DENY');
  },
};
