import { isUtf8 } from 'node:buffer';
import { printable } from '../../platform/errors/printable.js';
import { parseBody } from '../../platform/http/parameters/parse-body.js';
import type { Answer } from '../../platform/http/signed-calls/signed-http.js';
import { areWithinLimits, MAX_CLAIMS, MAX_CLAIMS_BYTES } from '../../identity/claim-limits.js';
import type { Claims } from '../../identity/claims.js';
import { validClaims } from '../../provider/identity/select-claims.js';

/** Characters of the message to the operator. */
const LONGEST_MESSAGE = 200;
const MOST_NAMED = 10;

/** Answer of the admission service (docs/guides/access-policy.md#ask-a-service-of-yours). */
export type Decision =
  | { readonly isAllowed: true; readonly claims: Claims }
  /** `message`: for the operator; empty: none. */
  | { readonly isAllowed: false; readonly message: string };

/** @throws Error that says what is wrong with the answer, without quoting its values */
export function readDecision({ status, body }: Omit<Answer, 'retryAfter'>): Decision {
  if (status !== 200) throw new Error(`status ${status} instead of 200`);
  if (body instanceof Error) throw body;
  const { allow, claims, message } = parseJson(body);
  if (allow === true) return { isAllowed: true, claims: readClaims(claims) };
  if (allow !== false) throw new Error('the member allow of the answer is neither true nor false');
  return {
    isAllowed: false,
    message: typeof message === 'string' ? printable(message, LONGEST_MESSAGE) : '',
  };
}

function parseJson(body: Buffer): { readonly [member in 'allow' | 'claims' | 'message']?: unknown } {
  try {
    if (!isUtf8(body)) throw new Error('other bytes');
    return parseBody(body, 'application/json', Infinity);
  } catch {
    throw new Error('the answer is no JSON object, or has more than 100 levels');
  }
}

function readClaims(sent: unknown): Claims {
  const { accepted, dropped } = validClaims(sent);
  if (dropped.length > 0) {
    const named = dropped.slice(0, MOST_NAMED).map(({ name, why }) => `${printable(name, 64)} ${why}`);
    throw new Error(`claims of the answer: ${named.join(', ')}`);
  }
  if (!areWithinLimits(accepted)) {
    throw new Error(
      `the claims of the answer exceed ${MAX_CLAIMS} names or ${MAX_CLAIMS_BYTES} bytes of JSON`,
    );
  }
  return accepted;
}
