import { isMissing } from '../../exchange.js';
import { describe, isAnswer, isSuccess, membersOf } from '../../reply.js';
import { fail, pass, skip, type Rule } from '../../rule.js';
import { NOT_TRIED } from '../errors/expect-error.js';

export const exchangeSuccess: Rule = {
  id: 'exchange-success',
  clause: '§4.5.2',
  title: 'a code is exchanged for 200 and a JSON object',
  level: 'required',
  run({ exchanges: { first } }) {
    if (!first || isMissing(first)) return skip(NOT_TRIED);
    if (isAnswer(first) && isSuccess(first) && first.status === 200 && membersOf(first))
      return pass('200 with JSON');
    const credentials = 'a refusal may also mean that --client-id or --client-secret is wrong';
    return fail(
      describe(first),
      `read the form (application/x-www-form-urlencoded), answer 200 with JSON; ${credentials}`,
    );
  },
};
