import { fitClaims, type Cut } from './claim-limits.js';
import type { Claims } from './claims.js';

/**
 * Lays claims of a feature over the provider's, name by name. What exceeds the limits is cut
 * from the provider's (docs/guides/roles.md#limits).
 * @param claims within the limits alone
 */
export function layOver(
  provider: Claims,
  claims: Claims,
): { readonly claims: Claims; readonly cuts: readonly Cut[] } {
  const others = Object.entries(provider).filter(([name]) => !Object.hasOwn(claims, name));
  const fitted = fitClaims(Object.fromEntries(others), claims);
  return { claims: { ...fitted.claims, ...claims }, cuts: fitted.cuts };
}
