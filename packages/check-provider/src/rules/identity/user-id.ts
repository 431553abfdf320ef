import { fail, pass, skip, type Rule } from '../../rule.js';
import { identityOf, NO_IDENTITY } from './identity.js';

export const userId: Rule = {
  id: 'user-id',
  clause: '§2.5',
  title: 'provider_user_id is a string',
  level: 'required',
  run(evidence) {
    const identity = identityOf(evidence);
    if (!identity) return skip(NO_IDENTITY);
    const id = identity['provider_user_id'];
    if (typeof id === 'string' && id !== '') return pass(`a string of ${id.length} characters`);
    const seen =
      id === undefined ? 'missing' : id === '' ? 'empty' : `of type ${id === null ? 'null' : typeof id}`;
    return fail(seen, 'send provider_user_id as a string that is not empty (a number in quotes)');
  },
};
