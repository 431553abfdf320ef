import { isObject } from '../../../platform/http/parameters/json.js';
import { UUID } from '../../../platform/http/parameters/uuid.js';
import type { ParsedFilter } from '../protocol/filter.js';
import { attributeNamed } from '../protocol/names.js';
import { entriesOf, lowerNames, readText, readValue, type Operation } from '../protocol/normalise.js';
import { invalid } from '../protocol/scim-error.js';

export const MOST_MEMBERS = 50_000;

/** What is to become of a group. An absent member stays as it is. */
export interface GroupChange {
  readonly displayName?: string;
  /** Null: none. */
  readonly externalId?: string | null;
  /** First, all members go. */
  readonly replacesMembers: boolean;
  readonly added: ReadonlySet<string>;
  readonly removed: ReadonlySet<string>;
}

/** Reads a group as it was sent by POST or PUT. @throws ScimError `invalidValue` */
export function readGroup(
  body: Readonly<Record<string, unknown>>,
): GroupChange & { readonly displayName: string } {
  let [displayName, externalId, added] = [undefined as unknown, null as unknown, new Set<string>()];
  for (const [key, value] of entriesOf(body)) {
    const name = attributeNamed('Group', key)?.name;
    if (name === 'displayName') displayName = readValue(name, value);
    else if (name === 'externalId') externalId = readValue(name, value) ?? null;
    else if (name === 'members') added = new Set(readMembers(value));
  }
  if (typeof displayName !== 'string') throw invalid('invalidValue', 'displayName is required');
  return {
    displayName,
    externalId: externalId as string | null,
    replacesMembers: true,
    added,
    removed: new Set(),
  };
}

/**
 * Returns what operations do together. They read no member, so they cost the same for a group of any size.
 */
export function readGroupChange(operations: readonly Operation[]): GroupChange {
  let change: { displayName?: string; externalId?: string | null } = {};
  let replacesMembers = false;
  const [added, removed] = [new Set<string>(), new Set<string>()];
  for (const operation of operations) {
    const { op, name, sub, filter, value } = operation;
    if (name === 'members') {
      if (sub !== undefined) throw invalid('mutability', 'a member cannot be changed');
      const isWhole = filter === undefined && (op === 'replace' || (op === 'remove' && value === undefined));
      if (isWhole) {
        replacesMembers = true;
        added.clear();
        removed.clear();
      }
      const ids = filter === undefined ? readMembers(value) : membersIn(filter);
      if (filter !== undefined && op !== 'remove') throw invalid('mutability', 'a member cannot be changed');
      const [into, from] = op === 'remove' ? [removed, added] : [added, removed];
      for (const id of ids) {
        from.delete(id);
        into.add(id);
      }
    } else if (name === 'displayName') {
      const text = op === 'remove' ? undefined : readValue(name, value);
      if (typeof text !== 'string') throw invalid('invalidValue', 'displayName is required');
      change = { ...change, displayName: text };
    } else if (name === 'externalId') {
      const text = op === 'remove' ? null : ((readValue(name, value) as string | undefined) ?? null);
      change = { ...change, externalId: text };
    }
  }
  return { ...change, replacesMembers, added, removed };
}

/** Returns the ids in a list of members; of each, only `value` is read. */
function readMembers(sent: unknown): string[] {
  if (sent === undefined || sent === null || sent === '') return [];
  const list = Array.isArray(sent) ? sent : [sent];
  if (list.length > MOST_MEMBERS) throw tooManyMembers();
  return list.map((member) => {
    const value = isObject(member) ? (member['value'] ?? lowerNames(member)['value']) : member;
    return idOf(value);
  });
}

/** Returns the ids of `value eq "…"`, several joined by `or`. */
function membersIn(filter: ParsedFilter): string[] {
  return (filter.op === 'or' ? filter.filters : [filter]).map((one) => {
    if (one.op !== 'eq' || one.attrPath !== 'value') {
      throw invalid('invalidFilter', 'a member is named by value eq "id"');
    }
    return idOf(one.compValue);
  });
}

function idOf(value: unknown): string {
  if (typeof value === 'string' && UUID.test(value)) return value.toLowerCase();
  readText(value, 'members'); // an error of its own for another type
  throw noSuchMember();
}

export function noSuchMember(): Error {
  return invalid('invalidValue', 'a member is no user of this directory');
}

export function tooManyMembers(): Error {
  return invalid('invalidValue', `a group must not have more than ${MOST_MEMBERS} members`);
}
