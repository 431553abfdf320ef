import { filter as testerOf } from 'scim2-parse-filter';
import { mapComparisons, type ParsedFilter } from '../protocol/filter.js';
import { readBoolean, readText, readValue, type Operation } from '../protocol/normalise.js';
import { invalid } from '../protocol/scim-error.js';
import {
  LARGEST,
  LISTS,
  readEntries,
  readName,
  readParts,
  requireFew,
  requireUser,
  tooLarge,
  type Entry,
  type List,
  type UserResource,
} from './user-resource.js';

/** Comparisons of an entry with a part of a filter: a request must not hold up the event loop. */
const MOST_COMPARISONS = 50_000;
/** Of the lists that operations read: each is compared, copied or put into lower case. */
const MOST_CHARACTERS = 2_000_000;

type Matches = (entry: Entry) => boolean;
type Draft = { -readonly [Name in keyof UserResource]?: UserResource[Name] | undefined };

/**
 * Applies operations to a user (RFC 7644 §3.5.2).
 * @throws ScimError `noTarget` if nothing is meant that could be changed, `invalidValue`, `tooMany`
 */
export function patchUser(user: UserResource, operations: readonly Operation[]): UserResource {
  const draft: Draft = { ...user };
  let [comparisons, characters] = [0, 0];
  for (const operation of operations) {
    const { op, name, sub, filter, value } = operation;
    if (LISTS.has(name as List)) {
      const list = draft[name as List] ?? [];
      comparisons += filter ? list.length * sizeOf(filter) : 0;
      characters += charactersOf(list);
      if (comparisons > MOST_COMPARISONS || characters > MOST_CHARACTERS) {
        throw invalid('tooMany', 'the operations compare too many values');
      }
      const entries = requireFew(name, changed(list, operation));
      if (charactersOf(entries) > LARGEST) throw tooLarge();
      draft[name as List] = entries.length > 0 ? entries : undefined;
    } else if (filter) throw invalid('invalidPath', `${name} has no values to filter`);
    else if (name === 'name') {
      const parts = sub === undefined ? value : { [sub]: op === 'remove' ? null : value };
      draft.name = op === 'remove' && sub === undefined ? undefined : readName(parts, draft.name);
    } else Object.assign(draft, { [name]: op === 'remove' ? undefined : readValue(name, value) });
  }
  return requireUser(draft);
}

function changed(list: readonly Entry[], operation: Operation): readonly Entry[] {
  const { op, name, sub, filter, value } = operation;
  const matches = filter ? matcherOf(filter) : () => true;
  if (op === 'remove') return without(list, operation, matches);
  const isWhole = filter === undefined && sub === undefined;
  if (isWhole) {
    const sent = readEntries(name, value) ?? [];
    if (op === 'replace') return sent;
    const known = new Set(list.map(textOf));
    return [...list, ...sent.filter((entry) => !known.has(textOf(entry)))];
  }
  const parts = partsOf(operation);
  const matched = new Set(list.filter(matches));
  if (matched.size > 0) return list.map((entry) => (matched.has(entry) ? { ...entry, ...parts } : entry));
  // A part of an entry that is missing is added with what its filter says (§3.5.2.3).
  const entry = { ...(filter && equalsOf(filter)), ...parts };
  if (!('value' in entry) || (op === 'replace' && sub === undefined)) {
    throw invalid('noTarget', 'no value matches the filter of the path');
  }
  return [...list, entry as Entry];
}

function partsOf({ name, sub, value }: Operation): Partial<Entry> {
  if (sub !== undefined) return { [sub]: sub === 'primary' ? readBoolean(value) : readText(value, name) };
  const [entry, ...others] = readParts(name, value);
  if (!entry || others.length > 0) throw invalid('invalidValue', `${name} with a filter needs one value`);
  return entry;
}

/**
 * Removes the entries of a path, or of them those that are sent as values. What is not there need not be
 * removed; an entry that is there, and stays, is an error.
 */
function without(
  list: readonly Entry[],
  { name, sub, value }: Operation,
  matches: Matches,
): readonly Entry[] {
  const isSent = value === undefined ? () => true : sentIn(list, name, sub, value);
  return list.flatMap((entry) => {
    if (!matches(entry) || !isSent(entry)) return [entry];
    if (sub === undefined || sub === 'value') return [];
    return [Object.fromEntries(Object.entries(entry).filter(([part]) => part !== sub)) as object as Entry];
  });
}

/** Values to remove name an entry by its value, and by its type if both have one. */
function sentIn(list: readonly Entry[], name: string, sub: string | undefined, value: unknown): Matches {
  if (sub !== undefined) {
    const text = String(value).toLowerCase();
    return (entry) => String(entry[sub as keyof Entry]).toLowerCase() === text;
  }
  const sent = new Map<string, (string | undefined)[]>();
  for (const entry of readParts(name, value)) {
    if (entry.value === undefined) throw invalid('invalidValue', `${name} to remove need their value`);
    const key = entry.value.toLowerCase();
    sent.set(key, [...(sent.get(key) ?? []), entry.type?.toLowerCase()]);
  }
  const isMeant: Matches = ({ value: own, type }) =>
    sent.get(own.toLowerCase())?.some((one) => !one || !type || one === type.toLowerCase()) ?? false;
  const removed = new Set(list.filter(isMeant).map((entry) => entry.value.toLowerCase()));
  if (list.some((entry) => sent.has(entry.value.toLowerCase()) && !removed.has(entry.value.toLowerCase()))) {
    throw invalid('noTarget', 'the value to remove has another type');
  }
  return isMeant;
}

/** Values, types and names have no case, as the schema says. */
function matcherOf(filter: ParsedFilter): Matches {
  const lower = mapComparisons(filter, (one) =>
    typeof one.compValue === 'string' ? { ...one, compValue: one.compValue.toLowerCase() } : one,
  );
  const matches = testerOf(lower as never);
  return (entry) => matches(lowered(entry));
}

const inLowerCase = new WeakMap<Entry, object>();

/** Once for each entry: operations of a request compare the same entries. */
function lowered(entry: Entry): object {
  const known = inLowerCase.get(entry);
  if (known) return known;
  const parts = Object.entries(entry) as [string, string | boolean][];
  const lower = parts.map(([part, one]) => [part, typeof one === 'string' ? one.toLowerCase() : one]);
  inLowerCase.set(entry, Object.fromEntries(lower) as object);
  return lowered(entry);
}

/** Returns the parts of an entry that a filter of `eq`, joined by `and`, asks for. */
function equalsOf(filter: ParsedFilter): Readonly<Record<string, unknown>> {
  if (filter.op === 'eq') return { [filter.attrPath]: filter.compValue };
  if (filter.op !== 'and') throw invalid('noTarget', 'no value matches the filter of the path');
  return Object.assign({}, ...filter.filters.map(equalsOf)) as Readonly<Record<string, unknown>>;
}

function charactersOf(list: readonly Entry[]): number {
  return list.reduce((sum, entry) => {
    for (const part of Object.values(entry)) sum += typeof part === 'string' ? part.length : 1;
    return sum;
  }, 0);
}

function sizeOf(filter: ParsedFilter): number {
  let size = 0;
  mapComparisons(filter, (one) => (size++, one));
  return size;
}

/** JSON of the database has its members in another order. */
function textOf({ value, type, display, primary }: Entry): string {
  return JSON.stringify([value, type, display, primary]);
}
