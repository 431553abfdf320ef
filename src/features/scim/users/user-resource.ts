import { isObject } from '../../../platform/http/parameters/json.js';
import { attributeNamed } from '../protocol/names.js';
import { entriesOf, lowerNames, readBoolean, readText, readValue } from '../protocol/normalise.js';
import { invalid } from '../protocol/scim-error.js';

/** An entry of `emails` or `roles`. */
export interface Entry {
  readonly value: string;
  readonly display?: string;
  readonly type?: string;
  readonly primary?: boolean;
}

/** What a directory says of a user. */
export interface UserResource {
  readonly userName: string;
  readonly externalId?: string;
  readonly displayName?: string;
  readonly name?: Readonly<Record<string, string>>;
  /** Undefined: not said. */
  readonly active?: boolean;
  readonly emails?: readonly Entry[];
  readonly roles?: readonly Entry[];
}

export type List = 'emails' | 'roles';
export const LISTS: ReadonlySet<List> = new Set(['emails', 'roles']);
/** Entries of a list: more roles would not fit into a token. */
const MOST_ENTRIES = 200;
/** Characters of a user's JSON: each change, page and sign-in reads it. */
export const LARGEST = 65_536;

/** Reads a user as it was sent. @throws ScimError `invalidValue` */
export function readUser(body: Readonly<Record<string, unknown>>): UserResource {
  const user: Record<string, unknown> = {};
  for (const [key, sent] of entriesOf(body)) {
    const target = attributeNamed('User', key);
    if (!target || ['id', 'schemas', 'meta'].includes(target.name)) continue;
    const { name, sub } = target;
    const value = LISTS.has(name as List)
      ? readEntries(name, sent)
      : name === 'name'
        ? readName(sub === undefined ? sent : { ...(user['name'] as object | undefined), [sub]: sent })
        : readValue(name, sent);
    if (value !== undefined) user[name] = value;
  }
  return requireUser(user);
}

/** @param before parts that stay unless they are sent; null is no value */
export function readName(value: unknown, before: UserResource['name'] = {}): UserResource['name'] {
  if (value === null || value === undefined || value === '') return undefined;
  if (!isObject(value)) throw invalid('invalidValue', 'name must be an object');
  const name = new Map(Object.entries(before));
  for (const [key, part] of entriesOf(value)) {
    const sub = attributeNamed('User', `name.${key}`)?.sub;
    if (sub === undefined || part === undefined) continue;
    if (part === null || part === '') name.delete(sub);
    else name.set(sub, readText(part, 'name'));
  }
  return name.size > 0 ? Object.fromEntries(name) : undefined;
}

export function readEntries(attribute: string, sent: unknown): Entry[] | undefined {
  const entries = readParts(attribute, sent).filter((one) => one.value !== undefined);
  return entries.length > 0 ? (entries as Entry[]) : undefined;
}

/** Reads what is sent of entries: an object, a text, or a list of these, also as JSON in a text (Entra). */
export function readParts(attribute: string, sent: unknown): Partial<Entry>[] {
  if (!isSet(sent)) return [];
  const parsed = fromJson(sent);
  const list: readonly unknown[] = Array.isArray(parsed) ? parsed : [sent];
  return requireFew(attribute, list).map((entry) => {
    const { value, display, type, primary } = isObject(entry) ? lowerNames(entry) : { value: entry };
    return {
      ...(isSet(value) && { value: valueIn(readText(value, attribute)) }),
      ...(isSet(display) && { display: readText(display, attribute) }),
      ...(isSet(type) && { type: readText(type, attribute) }),
      ...(isSet(primary) && { primary: readBoolean(primary) }),
    };
  });
}

/** @throws ScimError `invalidValue` for a list with too many entries */
export function requireFew<One>(attribute: string, list: readonly One[]): readonly One[] {
  if (list.length <= MOST_ENTRIES) return list;
  throw invalid('invalidValue', `${attribute} must not have more than ${MOST_ENTRIES} values`);
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

function valueIn(text: string): string {
  const parsed = fromJson(text);
  return isObject(parsed) && typeof parsed['value'] === 'string' ? parsed['value'] : text;
}

function fromJson(sent: unknown): unknown {
  if (typeof sent !== 'string' || !/^[[{]/.test(sent)) return sent;
  try {
    return JSON.parse(sent);
  } catch {
    return sent;
  }
}

/** @throws ScimError `invalidValue` for a user without a name, or who is too large */
export function requireUser(user: Partial<Record<keyof UserResource, unknown>>): UserResource {
  if (typeof user.userName !== 'string') throw invalid('invalidValue', 'userName is required');
  const stored = Object.fromEntries(Object.entries(user).filter(([, value]) => value !== undefined));
  if (JSON.stringify(stored).length > LARGEST) throw tooLarge();
  return stored as object as UserResource;
}

export function tooLarge(): Error {
  return invalid('invalidValue', `a user must not have more than ${LARGEST} characters`);
}
