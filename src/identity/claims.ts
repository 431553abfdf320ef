/** Claims by name; the values are JSON. */
export type Claims = Readonly<Record<string, unknown>>;

/** Claims of a user. */
export interface UserClaims {
  /** Version of the effective claims; see User. */
  readonly version: number;
  readonly provider: Claims;
  readonly application: Claims;
  readonly effective: Claims;
}

/** Claims of an unknown user, and of one who never had any. */
export const NO_CLAIMS: UserClaims = { version: 0, provider: {}, application: {}, effective: {} };

/** Claims that are the union of both sources: arrays of strings (RFC 9068 §2.2.3.1). */
const LISTS: readonly string[] = ['roles', 'groups', 'entitlements'];
/** Claims that the access token carries at its top level. */
const TOP_LEVEL: ReadonlySet<string> = new Set([...LISTS, 'name', 'email', 'preferred_username']);

/**
 * Merges both sources; the only place that does. `Object.fromEntries` keeps `__proto__` a name like any
 * other.
 */
export function effectiveClaims(provider: Claims, application: Claims): Claims {
  const claims = new Map([...Object.entries(provider), ...Object.entries(application)]);
  for (const name of LISTS) {
    const union = new Set([...listClaim(provider, name), ...listClaim(application, name)]);
    if (union.size > 0) claims.set(name, [...union]);
    else claims.delete(name);
  }
  return Object.fromEntries(claims);
}

/** Whether claims are equal, regardless of the order of names and of lists. */
export function areSameClaims(one: Claims, other: Claims): boolean {
  return JSON.stringify(one) === JSON.stringify(other) || canonical(one) === canonical(other);
}

/**
 * Returns the members of an access token: six names at its top level, all others below `claims`
 * (docs/guides/roles.md#in-the-token).
 */
export function tokenMembers(claims: Claims): Claims {
  const entries = Object.entries(claims);
  const others = entries.filter(([name]) => !TOP_LEVEL.has(name));
  return {
    ...Object.fromEntries(entries.filter(([name]) => TOP_LEVEL.has(name))),
    ...(others.length > 0 && { claims: Object.fromEntries(others) }),
  };
}

/** Returns the claims of these names. */
export function pickClaims(claims: Claims, names: readonly string[]): Claims {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => names.includes(name)));
}

export function carries(token: object, claims: Claims): boolean {
  const members = Object.entries(token).filter(([name]) => TOP_LEVEL.has(name) || name === 'claims');
  return areSameClaims(Object.fromEntries(members), tokenMembers(claims));
}

/** Returns the JSON of a column; null for no claims. */
export function toJson(claims: Claims): string | null {
  return Object.keys(claims).length > 0 ? JSON.stringify(claims) : null;
}

/** Returns a list; empty if the claims have none of this name. @public */
export function listClaim(claims: Claims, name: string): readonly unknown[] {
  const value = claims[name];
  return Array.isArray(value) ? value : [];
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** JSON with sorted names and lists. */
function canonical(claims: Claims): string {
  const lists = LISTS.map((name) => [name, listClaim(claims, name).map(String).toSorted(byText)] as const);
  return JSON.stringify({ ...claims, ...Object.fromEntries(lists) }, (_name, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => byText(a, b)))
      : value,
  );
}
