import { refusals } from '../evidence.js';
import { isMissing } from '../exchange.js';
import { describe, isAnswer, isSuccess, membersOf } from '../reply.js';
import { type Rule, fail, pass, quote, skip } from '../rule.js';
import { NOT_TRIED } from './errors.js';

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

/** Not all providers need a redirect URI (spec §4.2); one that got it with the authorization request should require it here. */
export const redirectUriRequired: Rule = {
  id: 'redirect-uri-required',
  clause: 'RFC 6749 §4.1.3',
  title: 'the exchange asks for the redirect_uri',
  level: 'advice',
  run({ exchanges: { withoutRedirectUri: reply } }) {
    if (!reply) return skip('not tried');
    if (!isSuccess(reply)) return pass(describe(reply));
    return fail(describe(reply), 'answer an exchange without redirect_uri with invalid_request');
  },
};

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
