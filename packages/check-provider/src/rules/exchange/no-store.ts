import { isSuccess } from '../../reply.js';
import { fail, pass, skip, type Rule } from '../../rule.js';

export const noStore: Rule = {
  id: 'no-store',
  clause: 'RFC 6749 §5.1',
  title: 'the identity may not be cached',
  level: 'advice',
  run({ exchanges: { first } }) {
    if (!first || !isSuccess(first)) return skip('no identity was given');
    const isForbidden = /(?:^|,)\s*no-store\s*(?:,|$)/i.test(first.headers.get('Cache-Control') ?? '');
    return isForbidden
      ? pass('Cache-Control: no-store')
      : fail('no no-store', 'send Cache-Control: no-store');
  },
};
