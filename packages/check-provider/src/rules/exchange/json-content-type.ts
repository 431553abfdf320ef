import { refusals } from '../../evidence.js';
import { quote } from '../../quote.js';
import { isAnswer } from '../../reply.js';
import { fail, pass, skip, type Rule } from '../../rule.js';

export const jsonContentType: Rule = {
  id: 'json-content-type',
  clause: 'RFC 6749 §5.1',
  title: 'the exchange answers with application/json',
  level: 'advice',
  run(evidence) {
    const { first } = evidence.exchanges;
    const all = refusals(evidence).map(({ answer }) => answer);
    if (first && isAnswer(first)) all.unshift(first);
    const answers = all.filter(({ body }) => body !== undefined);
    if (answers.length === 0) return skip('there was no JSON');
    const types = answers.map(({ headers }) => headers.get('Content-Type') ?? 'none');
    const wrong = types.find((type) => !/^application\/json\s*(?:;|$)/i.test(type));
    return wrong === undefined
      ? pass('all of them')
      : fail(quote(wrong), 'send Content-Type: application/json');
  },
};
