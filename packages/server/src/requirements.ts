import { LatchkeyError } from './latchkey-error.js';
import { claimOf, type UserClaims } from './token/user-claims.js';

/** Checks the claims of a caller. @throws LatchkeyError `insufficient_scope` (403) */
export type Requirement = (claims: UserClaims) => void;

/**
 * Requires one of the roles, in the claims that `verify()` or `authenticate()` has returned.
 * @throws TypeError without a role, or for one that is no text: most likely a setting that is missing
 *
 * @example
 * requireRole('admin')(await latchkey.authenticate(request));
 */
export function requireRole(...roles: readonly [string, ...string[]]): Requirement {
  checkTexts('requireRole', roles);
  return (claims) => {
    const held = valueOf('requireRole', claims, 'roles');
    if (!Array.isArray(held) || !roles.some((role) => held.includes(role))) throw insufficientScope();
  };
}

/**
 * Requires a claim: of this value, or a list that contains it.
 * @throws TypeError for a name that is no text, or a value that is no text, number or boolean
 *
 * @example
 * requireClaim('plan', 'pro')(await latchkey.authenticate(request));
 */
export function requireClaim(name: string, value: string | number | boolean): Requirement {
  checkTexts('requireClaim', [name]);
  if (!['string', 'number', 'boolean'].includes(typeof value))
    throw new TypeError('requireClaim() needs a value: a text, a number or a boolean');
  return (claims) => {
    const held = valueOf('requireClaim', claims, name);
    if (held !== value && !(Array.isArray(held) && held.includes(value))) throw insufficientScope();
  };
}

function valueOf(caller: string, claims: UserClaims | undefined, name: string): unknown {
  if (!claims) throw new TypeError(`${caller}() has no claims to check: authenticate() has to run before`);
  return claimOf(claims, name);
}

function checkTexts(caller: string, texts: readonly unknown[]): void {
  if (texts.length > 0 && texts.every((text) => typeof text === 'string' && text !== '')) return;
  throw new TypeError(`${caller}() needs a name, which is a text and not empty`);
}

/** RFC 6750 §3.1. */
function insufficientScope(): LatchkeyError {
  const headers = { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' };
  return new LatchkeyError('insufficient_scope', 403, 'the user does not have the right to do this', headers);
}
