import { refusals } from '../../evidence.js';
import { describe, errorOf } from '../../reply.js';
import { fail, pass, skip, type Rule } from '../../rule.js';

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
