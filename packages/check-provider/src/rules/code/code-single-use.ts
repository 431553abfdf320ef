import type { Rule } from '../../rule.js';
import { expectError } from '../errors/expect-error.js';

export const codeSingleUse: Rule = {
  id: 'code-single-use',
  clause: '§4.5.2, §7.3',
  title: 'a used code is invalid_grant',
  level: 'required',
  run: ({ exchanges }) =>
    expectError(
      exchanges.again,
      'invalid_grant',
      'delete a code in the very step that redeems it; then invalid_grant',
    ),
};
