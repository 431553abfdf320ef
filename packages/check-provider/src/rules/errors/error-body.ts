import { refusals } from '../../evidence.js';
import { describe, errorOf, membersOf, type Answer } from '../../reply.js';
import { fail, pass, skip, type Rule } from '../../rule.js';

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
