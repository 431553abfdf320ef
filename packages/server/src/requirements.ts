import { bearerChallenge, LatchkeyError } from './latchkey-error.js';
import { checkNames } from './option-names.js';
import { findResource, isScope } from './protected-resource.js';
import { isOfApplication, type Claims } from './token/token-signature.js';
import { claimOf, type UserClaims } from './token/user-claims.js';

/** Checks the claims of a caller. @throws LatchkeyError `insufficient_scope` (403), `insufficient_user_authentication` (401) */
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
    const found = valueOf('requireRole', claims, 'roles');
    if (!Array.isArray(found) || !roles.some((role) => found.includes(role))) throw insufficientScope();
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
    const found = valueOf('requireClaim', claims, name);
    if (found !== value && !(Array.isArray(found) && found.includes(value))) throw insufficientScope();
  };
}

/**
 * Requires that the user has allowed all of the scopes to the program that acts for them. Tokens of the application itself, whose `aud`
 * is the issuer, need none.
 * @throws TypeError without a scope, or for one that is none (RFC 6749 §3.3)
 *
 * @example
 * requireScope('orders:read')(await latchkey.authenticate(request));
 */
export function requireScope(...scopes: readonly [string, ...string[]]): Requirement {
  if (scopes.length === 0 || !scopes.every(isScope))
    throw new TypeError('requireScope() needs a scope: a text without spaces and quotes');
  return (claims) => {
    const token = checkPresent('requireScope', claims) as Partial<Claims>;
    if (isOfApplication(token)) return;
    const { aud, scope } = token;
    const granted = typeof scope === 'string' ? scope.split(' ').filter(isScope) : [];
    const missing = scopes.filter((one) => !granted.includes(one));
    if (missing.length === 0) return;
    const resource = typeof aud === 'string' ? findResource(aud) : undefined;
    throw insufficientScope({
      ...resource?.parameters,
      scope: [...granted, ...missing].join(' '), // clients ask for exactly these
    });
  };
}

/** What `requireRecentAuth` asks for: at least one of both. */
export interface RecentAuth {
  /** Seconds since the user authenticated at the provider, at most; 60 more count as equal, for clocks and the way back. */
  readonly maxAge?: number;
  /** Class of the authentication, as the provider names it (`acr`); of several, one is enough. */
  readonly acr?: string | readonly string[];
}

/** Seconds, as the service has (docs/guides/step-up.md#from-the-provider). */
const TOLERANCE = 60;

/**
 * Requires that the user authenticated not long ago, or in a certain way (RFC 9470). The answer tells the caller what is missing;
 * `latchkey.fetch` of `@latchkey/client` then asks the user, and repeats the request.
 * @throws TypeError without a requirement, or for one that no header can carry
 *
 * @example
 * requireRecentAuth({ maxAge: 300 })(await latchkey.authenticate(request));
 */
export function requireRecentAuth(needed: RecentAuth): Requirement {
  checkNames('requireRecentAuth()', needed, { maxAge: true, acr: true });
  const { maxAge, acr } = needed;
  const classes = acr === undefined ? [] : [acr].flat();
  const isAge = maxAge === undefined || (Number.isSafeInteger(maxAge) && maxAge >= 0 && maxAge < 1e9);
  const areClasses = classes.every(isScope); // of the same characters
  if (!isAge || !areClasses || (maxAge === undefined && classes.length === 0)) {
    throw new TypeError(
      'requireRecentAuth() needs maxAge, in whole seconds, or acr, a text without spaces and quotes',
    );
  }
  return (claims) => {
    const { auth_time: at, acr: found } = checkPresent('requireRecentAuth', claims) as Authentication;
    const age = typeof at === 'number' ? Date.now() / 1000 - at : Infinity;
    const isRecent = maxAge === undefined || (age <= maxAge + TOLERANCE && age >= -TOLERANCE);
    if (isRecent && (classes.length === 0 || classes.includes(found as string))) return;
    throw insufficientAuthentication(maxAge, classes);
  };
}

interface Authentication {
  readonly auth_time?: unknown;
  readonly acr?: unknown;
}

function checkPresent(caller: string, claims: UserClaims | undefined): UserClaims {
  if (!claims) throw new TypeError(`${caller}() has no claims to check: authenticate() has to run before`);
  return claims;
}

function valueOf(caller: string, claims: UserClaims | undefined, name: string): unknown {
  return claimOf(checkPresent(caller, claims), name);
}

function checkTexts(caller: string, texts: readonly unknown[]): void {
  if (texts.length > 0 && texts.every((text) => typeof text === 'string' && text !== '')) return;
  throw new TypeError(`${caller}() needs a name, which is a text and not empty`);
}

/** RFC 6750 §3.1. */
function insufficientScope(parameters: Readonly<Record<string, string>> = {}): LatchkeyError {
  const headers = { 'WWW-Authenticate': bearerChallenge({ error: 'insufficient_scope', ...parameters }) };
  return new LatchkeyError('insufficient_scope', 403, 'the user does not have the right to do this', headers);
}

/** RFC 9470 §3. */
function insufficientAuthentication(maxAge: number | undefined, classes: readonly string[]): LatchkeyError {
  const code = 'insufficient_user_authentication';
  const parameters = {
    error: code,
    ...(maxAge !== undefined && { max_age: maxAge }),
    ...(classes.length > 0 && { acr_values: classes.join(' ') }),
  };
  const headers = { 'WWW-Authenticate': bearerChallenge(parameters) };
  return new LatchkeyError(code, 401, 'the user has to sign in again for this', headers);
}
