import { isSuccess, membersOf } from '../../reply.js';
import { fail, pass, skip, type Rule } from '../../rule.js';
import { identityOf } from './identity.js';

export const userIdStable: Rule = {
  id: 'user-id-stable',
  clause: '§2.5',
  title: 'the same user has the same provider_user_id',
  level: 'required',
  run(evidence) {
    const { second } = evidence.exchanges;
    const one = identityOf(evidence)?.['provider_user_id'];
    const two = second && isSuccess(second) ? membersOf(second)?.['provider_user_id'] : undefined;
    if (one === undefined || two === undefined) return skip('there were no two identities to compare');
    if (one === two) return pass('the same in two sign-ins');
    return fail(
      'another in the second sign-in',
      'always send the same value (were both sign-ins of the same user?)',
    );
  },
};
