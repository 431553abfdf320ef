import { refusals } from '../evidence.js';
import { type Answer, type Reply, describe, errorOf, isAnswer, isSuccess, membersOf } from '../reply.js';
import { type Finding, type Rule, fail, pass, skip } from '../rule.js';

export const NOT_TRIED = 'not tried: something before it went wrong';
const UNREADABLE = 'its error cannot be read: see "errors are JSON"';

/** Checks the error code of a refusal (spec §7.3); other rules check body and status. */
export function expectError(reply: Reply | undefined, error: string, mend: string): Finding {
  if (!reply) return skip(NOT_TRIED);
  if (!isAnswer(reply) || isSuccess(reply)) return fail(describe(reply), mend);
  const seen = errorOf(reply);
  if (seen === undefined) return skip(UNREADABLE);
  return seen === error ? pass(describe(reply)) : fail(describe(reply), mend);
}

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

export const errorBody: Rule = {
  id: 'error-body',
  clause: '§4.5.2, §7.1',
  title: 'errors are JSON: error, error_description',
  level: 'required',
  run(evidence) {
    const all = refusals(evidence);
    if (all.length === 0) return skip('nothing was refused');
    const wrong = all.flatMap(({ sent, answer }) => {
      const fault = faultOf(answer);
      return fault === undefined ? [] : [`${sent}: ${fault}`];
    });
    if (wrong.length === 0) return pass(`${all.length} refusals`);
    const more = wrong.length > 1 ? ` (and ${wrong.length - 1} more)` : '';
    return fail(
      `${wrong[0]}${more}`,
      'answer errors with {"error": "...", "error_description": "..."}, both strings',
    );
  },
};

function faultOf(answer: Answer): string | undefined {
  if (errorOf(answer) === undefined) return describe(answer);
  return typeof membersOf(answer)?.['error_description'] === 'string' ? undefined : 'no error_description';
}

/** Spec §7.3; not the table of the service's own endpoints, where invalid_grant is 401. */
const STATUS: Readonly<Record<string, number>> = {
  invalid_request: 400,
  invalid_grant: 400,
  invalid_client: 401,
  server_error: 500,
};

export const errorStatus: Rule = {
  id: 'error-status',
  clause: '§7.3',
  title: 'errors have their statuses',
  level: 'required',
  run(evidence) {
    const known = refusals(evidence).flatMap(({ answer }) => {
      const wanted = STATUS[errorOf(answer) ?? ''];
      return wanted === undefined
        ? []
        : [{ seen: describe(answer), isRight: answer.status === wanted, wanted }];
    });
    if (known.length === 0) return skip('no error code of the table was seen');
    const listed = (right: boolean): string =>
      [...new Set(known.filter(({ isRight }) => isRight === right).map(({ seen }) => seen))].join(', ');
    if (known.every(({ isRight }) => isRight)) return pass(listed(true));
    return fail(
      listed(false),
      'invalid_request 400, invalid_grant 400, invalid_client 401, server_error 500',
    );
  },
};
