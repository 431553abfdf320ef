import { claimAt, type Claims } from './claims.js';
import { isName, type Identity } from './identity.js';

/**
 * Returns who a user is in the directory of the provider (`scim_claim`).
 * @param raw claims as the provider sent them; empty for other adapters than `oidc` and `oauth2`
 * @param claim `provider_user_id`, a path in the claims, or a kept claim
 */
export function directoryNameOf(identity: Identity, raw: Claims, claim: string): string | undefined {
  if (claim === 'provider_user_id') return identity.providerUserId;
  const name = claimAt(raw, claim, 'id') ?? identity.proof.claims[claim];
  return isName(name) ? name : undefined;
}
