import { isSuccess } from '../../reply.js';
import { skip, type Rule } from '../../rule.js';
import { expectError } from './expect-error.js';

export const unknownClient: Rule = {
  id: 'unknown-client',
  clause: '§7.3',
  title: 'an unknown client_id is invalid_client',
  level: 'required',
  run({ exchanges: { unknownClient: reply } }) {
    if (reply && isSuccess(reply))
      return skip('it was not refused: see "a code is of no use to another client"');
    return expectError(reply, 'invalid_client', 'check client_id before the code, and answer invalid_client');
  },
};
