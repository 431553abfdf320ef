import { describe, errorOf, isAnswer, isSuccess } from '../../reply.js';
import { fail, pass, skip, type Rule } from '../../rule.js';
import { NOT_TRIED, UNREADABLE } from './expect-error.js';

export const missingParameters: Rule = {
  id: 'missing-parameters',
  clause: '§7.3',
  title: 'a missing parameter is invalid_request',
  level: 'required',
  run({ exchanges }) {
    const tried = [
      { name: 'code', reply: exchanges.withoutCode },
      { name: 'client_id', reply: exchanges.withoutClientId },
      { name: 'client_secret', reply: exchanges.withoutClientSecret },
    ].flatMap(({ name, reply }) => (reply ? [{ name, reply }] : []));
    if (tried.length === 0) return skip(NOT_TRIED);
    // Unreadable answers are left out: the rule "errors are JSON" reports them.
    const readable = tried.filter(
      ({ reply }) => !isAnswer(reply) || isSuccess(reply) || errorOf(reply) !== undefined,
    );
    if (readable.length === 0) return skip(UNREADABLE);
    const wrong = readable.filter(({ reply }) => !isAnswer(reply) || errorOf(reply) !== 'invalid_request');
    if (wrong.length === 0) return pass(`without ${readable.map(({ name }) => name).join(', ')}`);
    const seen = wrong.map(({ name, reply }) => `without ${name}: ${describe(reply)}`).join('; ');
    return fail(seen, 'look for all parameters first, and answer invalid_request');
  },
};
