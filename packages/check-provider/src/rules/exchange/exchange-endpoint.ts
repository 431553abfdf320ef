import { isMissing } from '../../exchange.js';
import { describe } from '../../reply.js';
import { fail, pass, skip, type Rule } from '../../rule.js';

export const exchangeEndpoint: Rule = {
  id: 'exchange-endpoint',
  clause: '§4.5.2',
  title: 'POST /oauth2/token/exchange is there',
  level: 'required',
  run({ exchanges }) {
    const reply = exchanges.first ?? exchanges.unknownCode;
    if (!reply) return skip('not tried');
    if (!isMissing(reply)) return pass(`answered ${'status' in reply ? reply.status : ''}`);
    const mend =
      'answer POST <url>/oauth2/token/exchange itself, without a redirect, in 5 s and 64 KiB at most';
    return fail(describe(reply), mend);
  },
};
