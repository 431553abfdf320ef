import { effectiveClaims, type Claims } from './claims.js';

/**
 * Limits of a user's claims of all sources together, so that `Authorization` fits into 8 KiB
 * (docs/guides/roles.md#limits).
 */
export const MAX_CLAIMS = 100;
export const MAX_CLAIMS_BYTES = 4096;

/** Claim of a provider of which a part is beyond the limits. */
export interface Cut {
  readonly name: string;
  readonly fitting: number;
  /** Entries of the list; 1 for another claim. */
  readonly of: number;
}

interface Fitted {
  readonly claims: Claims;
  readonly cuts: readonly Cut[];
}

export function areWithinLimits(effective: Claims): boolean {
  const isFew = Object.keys(effective).length <= MAX_CLAIMS;
  return isFew && Buffer.byteLength(JSON.stringify(effective)) <= MAX_CLAIMS_BYTES;
}

/**
 * Returns the claims of a provider that fit beside those of the application: fewer rights, never more. Small
 * claims come first; a list is cut at its end, another claim is dropped.
 */
export function fitClaims(provider: Claims, application: Claims = {}): Fitted {
  if (areWithinLimits(effectiveClaims(provider, application))) return { claims: provider, cuts: [] };
  const sizes = Object.entries(provider).map(
    ([name, value]) => [name, JSON.stringify(value).length] as const,
  );
  const fitting = new Map<string, unknown>();
  const fits = (name: string, value: unknown): boolean =>
    areWithinLimits(effectiveClaims(Object.fromEntries([...fitting, [name, value]]), application));
  const cuts: Cut[] = [];
  for (const [name] of sizes.toSorted(([, a], [, b]) => a - b)) {
    const value = provider[name];
    if (fits(name, value)) {
      fitting.set(name, value);
      continue;
    }
    const list = Array.isArray(value) ? (value as readonly unknown[]) : [];
    const count = largest(list.length, (length) => fits(name, list.slice(0, length)));
    if (count > 0) fitting.set(name, list.slice(0, count));
    cuts.push({ name, fitting: count, of: Math.max(list.length, 1) });
  }
  const names = Object.keys(provider).filter((name) => fitting.has(name)); // in the provider's order
  return { claims: Object.fromEntries(names.map((name) => [name, fitting.get(name)])), cuts };
}

/** Returns the largest number below `end` that fits. */
function largest(end: number, fits: (length: number) => boolean): number {
  let [low, high] = [0, end];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

const MAX_NAMED = 10;

/**
 * Describes cuts for the log, without values.
 * @param settingOf names the setting that keeps fewer values of a claim
 * @param what is beyond which limits
 */
export function describeCuts(
  cuts: readonly Cut[],
  settingOf = (name: string): string => `map_${name}`,
  what = `claims beyond ${MAX_CLAIMS_BYTES} bytes or ${MAX_CLAIMS} names of all sources`,
): string {
  const named = cuts.slice(0, MAX_NAMED).map(({ name, fitting, of }) => {
    const isList = of > 1 || fitting > 0;
    return isList
      ? `${fitting} of ${of} ${name} are kept (${settingOf(name)} can keep only those in use)`
      : `${name} is dropped`;
  });
  const others = cuts.length > MAX_NAMED ? `, and ${cuts.length - MAX_NAMED} others` : '';
  return `${what}: ${named.join(', ')}${others}`;
}

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
