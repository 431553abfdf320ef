import { describe, isSuccess } from '../reply.js';
import { type Rule, fail, pass, skip } from '../rule.js';
import { NOT_TRIED, expectError } from './errors.js';

export const codeSingleUse: Rule = {
  id: 'code-single-use',
  clause: '§4.5.2, §7.3',
  title: 'a used code is invalid_grant',
  level: 'required',
  run: ({ exchanges }) =>
    expectError(
      exchanges.again,
      'invalid_grant',
      'delete a code in the very step that redeems it; then invalid_grant',
    ),
};

export const unknownCode: Rule = {
  id: 'unknown-code',
  clause: '§7.3',
  title: 'an unknown code is invalid_grant',
  level: 'required',
  run: ({ exchanges }) =>
    expectError(
      exchanges.unknownCode,
      'invalid_grant',
      'answer a code that was never issued with invalid_grant',
    ),
};

/** There is only one client to check with, so the other client is one that does not exist. */
export const codeBoundToClient: Rule = {
  id: 'code-bound-to-client',
  clause: '§4.5.2',
  title: 'a code is of no use to another client',
  level: 'required',
  run({ exchanges: { unknownClient } }) {
    if (!unknownClient) return skip(NOT_TRIED);
    if (!isSuccess(unknownClient)) return pass(describe(unknownClient));
    return fail(describe(unknownClient), 'keep the client_id with the code, and compare it in the exchange');
  },
};

export const codeBoundToRedirectUri: Rule = {
  id: 'code-bound-to-redirect-uri',
  clause: 'RFC 6749 §4.1.3',
  title: 'a code is of no use with another redirect_uri',
  level: 'advice',
  run({ exchanges: { otherRedirectUri: reply } }) {
    if (!reply) return skip('not tried');
    if (!isSuccess(reply)) return pass(describe(reply));
    return fail(
      describe(reply),
      'keep the redirect_uri with the code, and answer another one with invalid_grant',
    );
  },
};

/** The only protection against an injected code at a provider of the contract (RFC 9700 §4.5). */
export const codeBoundToVerifier: Rule = {
  id: 'code-bound-to-verifier',
  clause: 'RFC 7636 §4.6',
  title: 'a code is of no use with another code_verifier (PKCE)',
  level: 'advice',
  run({ exchanges: { second, wrongVerifier: reply } }) {
    if (!second) return skip('not tried');
    const keep =
      'keep code_challenge with the code, and answer another code_verifier with invalid_grant; then';
    const mend = `${keep} set pkce=on for this provider in Latchkey: it refuses injected codes`;
    if (!reply) return fail('code_challenge or code_verifier is refused', mend);
    return isSuccess(reply)
      ? fail(`the verifier is ignored: ${describe(reply)}`, mend)
      : pass(describe(reply));
  },
};

/** The specification only recommends ten minutes. */
export const codeExpiry: Rule = {
  id: 'code-expiry',
  clause: '§4.5.2',
  title: 'a code expires within 10 minutes',
  level: 'advice',
  run({ exchanges: { late } }) {
    if (!late) return skip('not tried: --slow waits for it');
    if (!isSuccess(late)) return pass(describe(late));
    return fail(`${describe(late)} after 10 minutes`, 'let codes expire: one minute is plenty');
  },
};

const LEAST_BITS = 128; // RFC 6749 §10.10
const LONGEST = 16_384; // characters; the service refuses longer codes

export const codeStrength: Rule = {
  id: 'code-strength',
  clause: 'RFC 6749 §10.10',
  title: 'codes cannot be guessed',
  level: 'advice',
  run({ codes }) {
    if (codes.length === 0) return skip('there was no code');
    const weakest = Math.min(...codes.map(mostBits));
    const longest = Math.max(...codes.map((code) => code.length));
    const seen = `${longest} characters, ${weakest} bits at most`;
    if (longest > LONGEST) return fail(seen, `Latchkey takes codes of ${LONGEST} characters at most`);
    return weakest >= LEAST_BITS
      ? pass(seen)
      : fail(seen, 'make codes of 128 random bits or more, as 32 hex characters');
  },
};

/** The most bits that a code of this length and these kinds of characters can hold. */
function mostBits(code: string): number {
  const isHex = /^(?:[0-9a-f]+|[0-9A-F]+)$/.test(code.replaceAll('-', ''));
  const kinds = [/[0-9]/, /[a-z]/, /[A-Z]/, /[^0-9a-zA-Z]/];
  const sizes = [10, 26, 26, 2];
  const alphabet = kinds.reduce((sum, kind, index) => sum + (kind.test(code) ? sizes[index]! : 0), 0);
  return Math.floor(code.length * Math.log2(isHex && /[a-f]/i.test(code) ? 16 : alphabet));
}
