import type { ChangeSource } from '../audit/audit-names.js';
import type { ClaimChanges } from '../audit/claim-changes.js';
import { areSameClaims, type Claims } from '../identity/claims.js';

/** Bytes of JSON that an event has for changes of claims (docs/audit.md#changes-of-claims). */
const MOST_BYTES = 2048;
/** Stands for what is not recorded. */
const LEFT_OUT = '…';
const REST = { [LEFT_OUT]: LEFT_OUT };

interface Entry {
  readonly name: string;
  readonly value: unknown;
}

/**
 * Returns the difference of two sets of claims. Beyond the limit, names come before values, and short ones
 * before long ones; a list is cut at its end.
 * @param withValues false: names only
 */
export function claimDifference(
  source: ChangeSource,
  before: Claims,
  after: Claims,
  withValues: boolean,
): ClaimChanges {
  const [added, removed] = [entriesOf(after, before), entriesOf(before, after)];
  const recorded = new Map<Entry, unknown>();
  let left = MOST_BYTES - sizeOf({ source, added: REST, removed: REST });
  for (const entry of [...added, ...removed].toSorted(bySizeOf('name'))) {
    const size = sizeOf({ [entry.name]: LEFT_OUT }) - 1; // a comma, without the brackets
    if (size > left) break;
    left -= size;
    recorded.set(entry, LEFT_OUT);
  }
  for (const entry of withValues ? [...recorded.keys()].toSorted(bySizeOf('value')) : []) {
    const value = fitting(entry.value, left + sizeOf(LEFT_OUT));
    left += sizeOf(LEFT_OUT) - sizeOf(value);
    recorded.set(entry, value);
  }
  const toClaims = (entries: readonly Entry[]): Record<string, unknown> => {
    const listed = entries.filter((entry) => recorded.has(entry));
    const members = listed.map((entry) => [entry.name, recorded.get(entry)] as const);
    return { ...Object.fromEntries(members), ...(listed.length < entries.length && REST) };
  };
  return { source, added: toClaims(added), removed: toClaims(removed) };
}

/** Returns claims that others have not, or not so; of a list that both have, the entries. */
function entriesOf(claims: Claims, others: Claims): Entry[] {
  const otherValues = new Map(Object.entries(others));
  return Object.entries(claims).flatMap(([name, value]) => {
    if (!otherValues.has(name)) return [{ name, value }];
    const other = otherValues.get(name);
    if (areSameClaims({ [name]: value }, { [name]: other })) return [];
    if (!Array.isArray(value) || !Array.isArray(other)) return [{ name, value }];
    const own = without(value, other);
    const isReordered = own.length === 0 && value.length === other.length;
    return own.length > 0 ? [{ name, value: own }] : isReordered ? [{ name, value }] : [];
  });
}

/** Returns the entries of a list that remain if those of another one are taken out, each once. */
function without(list: readonly unknown[], others: readonly unknown[]): unknown[] {
  const counts = new Map<string, number>();
  for (const one of others) counts.set(JSON.stringify(one), (counts.get(JSON.stringify(one)) ?? 0) + 1);
  return list.filter((one) => {
    const count = counts.get(JSON.stringify(one)) ?? 0;
    counts.set(JSON.stringify(one), count - 1);
    return count <= 0;
  });
}

/** Returns a value, a list as far as it fits, or LEFT_OUT. @param room bytes of JSON */
function fitting(value: unknown, room: number): unknown {
  if (sizeOf(value) <= room) return value;
  if (!Array.isArray(value)) return LEFT_OUT;
  let size = sizeOf([LEFT_OUT]);
  const end = value.findIndex((one) => (size += sizeOf(one) + 1) > room); // and a comma
  return end > 0 ? [...(value as unknown[]).slice(0, end), LEFT_OUT] : LEFT_OUT;
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function bySizeOf(member: keyof Entry): (one: Entry, other: Entry) => number {
  return (one, other) => sizeOf(one[member]) - sizeOf(other[member]);
}
