import { fail, pass, skip, type Rule } from '../../rule.js';
import { identityOf, NO_IDENTITY } from './identity.js';

const FIELDS = ['username', 'email', 'avatar_url'];

export const optionalFields: Rule = {
  id: 'optional-fields',
  clause: '§2.5',
  title: 'username, email, avatar_url are strings, or absent',
  level: 'required',
  run(evidence) {
    const identity = identityOf(evidence);
    if (!identity) return skip(NO_IDENTITY);
    const given = FIELDS.filter((name) => identity[name] !== undefined && identity[name] !== null);
    const wrong = given.filter((name) => typeof identity[name] !== 'string');
    if (wrong.length > 0)
      return fail(`not a string: ${wrong.join(', ')}`, 'send a string, or leave the field out');
    const url = identity['avatar_url'];
    if (typeof url === 'string' && !URL.canParse(url)) {
      return fail('avatar_url is not a URL', 'send an absolute URL, or leave the field out');
    }
    return pass(given.join(', ') || 'none of them');
  },
};
