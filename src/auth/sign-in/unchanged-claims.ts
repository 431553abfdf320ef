import { areSameClaims } from '../../identity/claims.js';
import { deriveUserId } from '../../identity/user-id.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import type { UserStore } from '../../user/user.store.js';
import type { Verified } from '../extensions/sign-in-steps.js';

/**
 * Refuses a sign-in that has waited on a page for minutes, if it would bring claims back that have changed
 * since.
 * @throws OAuthError `access_denied`
 * @public
 */
export async function requireUnchangedClaims(users: UserStore, verified: Verified): Promise<void> {
  const { provider, identity, requestedAt } = verified;
  const user = await users.find(deriveUserId(provider, identity.providerUserId));
  const { claimsChangedAt = null, providerClaims = null } = user ?? {};
  if (claimsChangedAt === null || claimsChangedAt.getTime() <= requestedAt) return;
  if (areSameClaims(providerClaims ?? {}, identity.claims)) return;
  const reason = 'claims_changed';
  throw new OAuthError('access_denied', 'the rights of the user have changed since the sign-in', { reason });
}
