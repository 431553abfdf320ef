import { describe, isSuccess } from '../../reply.js';
import { fail, pass, skip, type Rule } from '../../rule.js';
import { NOT_TRIED } from '../errors/expect-error.js';

/** There is only one client to check with, so the other client is one that does not exist. */
export const codeBoundToClient: Rule = {
  id: 'code-bound-to-client',
  clause: '§4.5.2',
  title: 'a code is of no use to another client',
  level: 'required',
  run({ exchanges: { unknownClient } }) {
    if (!unknownClient) return skip(NOT_TRIED);
    if (!isSuccess(unknownClient)) return pass(describe(unknownClient));
    return fail(describe(unknownClient), 'keep the client_id with the code, and compare it in the exchange');
  },
};
