import type { Rule } from '../../rule.js';
import { expectError } from './expect-error.js';

export const wrongSecret: Rule = {
  id: 'wrong-secret',
  clause: '§7.3',
  title: 'a wrong client_secret is invalid_client',
  level: 'required',
  run: ({ exchanges }) =>
    expectError(
      exchanges.wrongSecret,
      'invalid_client',
      'compare client_secret before you look at the code, and answer invalid_client',
    ),
};
