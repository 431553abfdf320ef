import type { VerifierOptions } from './options.js';
import { Verifier } from './verifier.js';

export type { WithHeaders } from './bearer.js';
export type { Claims } from './claims.js';
export type { Introspection } from './introspection.js';
export { LatchkeyError, type ErrorCode } from './latchkey-error.js';
export type { VerifierOptions, WhenAway } from './options.js';
export type { Pushed, PushedEvent } from './push.js';
export type { UserToSignOut } from './sign-out-user.js';
export type { Authenticator, Verifier } from './verifier.js';

/**
 * Makes what an API needs to judge the access tokens that it is called with: one for each process. With a `serviceKey` it
 * begins at once to listen to sign-outs.
 * @throws TypeError for an option that cannot be right
 */
export function createVerifier(options: VerifierOptions): Verifier {
  return new Verifier(options);
}
