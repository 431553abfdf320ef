import { hash } from 'node:crypto';
import type { Claims } from '../identity/claims.js';

/**
 * What the provider said of a user at the last sign-in, beside the profile and the claims of now, which
 * others may change. An absent member is null, false or empty, except `claims`.
 */
export interface LastIdentity {
  readonly subject?: string;
  readonly email?: string;
  readonly isEmailVerified?: true;
  /** Null: the provider has this claim, but not for the user. */
  readonly hostedDomain?: string | null;
  /** As in Identity. */
  readonly names?: Readonly<Record<string, string | null>>;
  /**
   * Claims before a cut, and without those that features have laid over. Absent if nothing but the provider
   * changes the stored ones: `claimsOfProvider` has them.
   */
  readonly claims?: Claims;
  /** Claims that features have laid over the provider's: a later change of those does not replace them. */
  readonly overlay?: Claims;
  /** A later sign-in was refused by `allow`: what is here does not hold any more. */
  readonly isRefused?: true;
}

/**
 * Returns the keys in `user_words` by which users of a provider are found by a name, whatever its case.
 * Searches do not find these keys: the words of a search have no small letters (`searchKey`), and the key has
 * no space.
 */
export function nameKey(provider: string, path: string, name: string): string {
  return `name:${hash('sha256', JSON.stringify([provider, path, name.toLowerCase()]), 'base64url')}`;
}

/**
 * Returns the keys of all names; a subject that is the user id has none, because `user_id` is derived of it.
 */
export function nameKeys(
  provider: string,
  providerUserId: string,
  { subject, names = {} }: { readonly subject?: string | null } & Pick<LastIdentity, 'names'>,
): string[] {
  const all = { ...(subject && subject !== providerUserId && { sub: subject }), ...names };
  return Object.entries(all).flatMap(([path, name]) => (name === null ? [] : nameKey(provider, path, name)));
}

/**
 * Returns the claims that the provider has given a user, without those that features have laid over.
 */
export function claimsOfProvider({
  providerClaims,
  identity,
}: {
  readonly providerClaims: Claims | null;
  readonly identity: LastIdentity | null;
}): Claims {
  const { overlay = {} } = identity ?? {};
  return Object.fromEntries(
    Object.entries(providerClaims ?? {}).filter(([name]) => !Object.hasOwn(overlay, name)),
  );
}
