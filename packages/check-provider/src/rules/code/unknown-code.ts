import type { Rule } from '../../rule.js';
import { expectError } from '../errors/expect-error.js';

export const unknownCode: Rule = {
  id: 'unknown-code',
  clause: '§7.3',
  title: 'an unknown code is invalid_grant',
  level: 'required',
  run: ({ exchanges }) =>
    expectError(
      exchanges.unknownCode,
      'invalid_grant',
      'answer a code that was never issued with invalid_grant',
    ),
};
