import { list, parser } from '../settings/parsers.js';

/** Parameters of the flow itself (RFC 6749 §4.1; RFC 7636; RFC 9101; OpenID Connect Core §3.1.2.1): neither setting nor client adds one. */
const OF_THE_FLOW: ReadonlySet<string> = new Set(
  `response_type response_mode client_id client_secret client_assertion client_assertion_type redirect_uri state scope nonce code
  code_challenge code_challenge_method code_verifier request request_uri provider iss error`.split(/\s+/),
);

const isOwn = (name: string): boolean => /^[\w.:-]{1,64}$/.test(name) && !OF_THE_FLOW.has(name);

export const authorizeParams = parser(
  'a query string (prompt=select_account&hd=corp.example), each name once, without parameters of the flow (client_id, scope, state, …)',
  (text) => {
    const names = [...new URLSearchParams(text).keys()];
    const isUnique = new Set(names).size === names.length;
    return !/^\?|[\p{C}\s]/u.test(text) && isUnique && names.length > 0 && names.every(isOwn)
      ? text
      : undefined;
  },
);

export const allowedParams = parser(
  'a comma-separated list of names, without parameters of the flow (client_id, scope, state, …)',
  (text) => list('names', isOwn).parse(text).join(','),
);
