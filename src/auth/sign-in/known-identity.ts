import type { Claims } from '../../identity/claims.js';
import type { Identity } from '../../provider/identity/identity.js';
import { claimsOfProvider, type LastIdentity } from '../../user/last-identity.js';

/** Columns of a user. */
interface KnownUser {
  readonly providerUserId: string;
  readonly username: string | null;
  readonly avatarUrl: string | null;
  readonly identity: LastIdentity | null;
  readonly providerClaims: Claims | null;
}

/**
 * Returns a user as the last sign-in knew them, with the claims of now, for a sign-in without an answer of
 * the provider. Nothing is known of the authentication.
 * @public
 */
export function knownIdentity(user: KnownUser): Identity {
  const { providerUserId, username, avatarUrl } = user;
  const {
    subject = null,
    email = null,
    isEmailVerified = false,
    hostedDomain,
    names = {},
  } = user.identity ?? {};
  const claims = claimsOfProvider(user); // the steps lay others over; `allow` does not read those
  return {
    providerUserId,
    username,
    email,
    avatarUrl,
    subject,
    session: null,
    authTime: null,
    acr: null,
    amr: null,
    idToken: null,
    refreshToken: null,
    sessionExpiry: null,
    names,
    claims,
    overlay: {},
    proof: { isEmailVerified, hostedDomain, claims },
    facts: {}, // the steps find them again
  };
}
