import { scimPatch } from 'scim-patch';
import { isObject } from '../../http/parameters/json.js';
import { attributeNamed } from '../protocol/names.js';
import {
  lowerNames,
  readBoolean,
  readRole,
  readText,
  readValue,
  type Operation,
} from '../protocol/normalise.js';
import { invalid, ScimError } from '../protocol/scim-error.js';

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

const LISTS = new Set(['emails', 'roles']);
/** Entries of a list: more roles would not fit into a token. */
const MOST_ENTRIES = 200;
/** Operations on one user; each of them copies what it changes. */
const MOST_OPERATIONS = 200;

/** Reads a user as it was sent. @throws ScimError `invalidValue` */
export function readUser(body: Readonly<Record<string, unknown>>): UserResource {
  const user: Record<string, unknown> = {};
  for (const [key, sent] of Object.entries(body)) {
    const target = attributeNamed('User', key);
    if (!target || ['id', 'schemas', 'meta'].includes(target.name)) continue;
    const { name, sub } = target;
    const value = LISTS.has(name)
      ? readEntries(name, sent)
      : name === 'name'
        ? readName(sub === undefined ? sent : { ...(user['name'] as object | undefined), [sub]: sent })
        : readValue(name, sent);
    if (value !== undefined) user[name] = value;
  }
  if (typeof user['userName'] !== 'string') throw invalid('invalidValue', 'userName is required');
  return user as Partial<UserResource> as UserResource;
}

/**
 * Applies operations to a user.
 * @throws ScimError `noTarget` if a value filter matches nothing, `invalidValue`, `invalidPath`
 */
export function patchUser(user: UserResource, operations: readonly Operation[]): UserResource {
  if (operations.length > MOST_OPERATIONS) {
    throw invalid('tooMany', `a user takes at most ${MOST_OPERATIONS} operations at a time`);
  }
  let patched: Readonly<Record<string, unknown>> = { ...structuredClone(user) };
  for (const operation of operations)
    patched = readUser(applied(patched, operation)) as object as typeof patched;
  return patched as object as UserResource;
}

function applied(user: Readonly<Record<string, unknown>>, operation: Operation): Record<string, unknown> {
  const { op, name, sub, filter } = operation;
  const path = `${name}${filter === undefined ? '' : `[${filter}]`}${sub === undefined ? '' : `.${sub}`}`;
  const value = valueOf(operation);
  // The library takes an absent list for a list without a match, or fails.
  if (op === 'remove' && user[name] === undefined) return { ...user };
  try {
    const resource = { schemas: [], meta: {}, ...user } as never;
    return scimPatch(resource, [{ op, path, value }], {
      mutateDocument: true,
      treatMissingAsAdd: true,
    });
  } catch (error) {
    if (error instanceof ScimError) throw error;
    const { scimCode } = error as { readonly scimCode?: string };
    if (scimCode === 'noTarget') throw invalid('noTarget', 'no value matches the filter of the path');
    throw invalid('invalidPath', 'the operation cannot be applied');
  }
}

/** Returns the value as the library needs it: a list for a list, unless the path names a part of an entry. */
function valueOf({ op, name, sub, filter, value }: Operation): unknown {
  if (value === undefined) return undefined;
  if (sub !== undefined) return sub === 'primary' ? readBoolean(value) : readText(value, name);
  if (filter !== undefined) return value;
  if (!LISTS.has(name)) return name === 'name' ? value : readValue(name, value);
  return op === 'remove' && !Array.isArray(value) ? [value] : (readEntries(name, value) ?? []);
}

function readName(value: unknown): object | undefined {
  if (value === null || value === undefined || value === '') return undefined;
  if (!isObject(value)) throw invalid('invalidValue', 'name must be an object');
  const parts = Object.entries(value).flatMap(([key, part]) => {
    const sub = attributeNamed('User', `name.${key}`)?.sub;
    return sub === undefined || part === null || part === '' || part === undefined
      ? []
      : [[sub, readText(part, 'name')] as const];
  });
  return parts.length > 0 ? Object.fromEntries(parts) : undefined;
}

function readEntries(attribute: string, sent: unknown): Entry[] | undefined {
  if (sent === null || sent === undefined || sent === '') return undefined;
  const list = Array.isArray(sent) ? sent : [sent];
  if (list.length > MOST_ENTRIES) {
    throw invalid('invalidValue', `${attribute} must not have more than ${MOST_ENTRIES} values`);
  }
  const entries = list.flatMap((entry) => readEntry(attribute, entry) ?? []);
  return entries.length > 0 ? entries : undefined;
}

/** Returns undefined for an entry without a value. */
function readEntry(attribute: string, sent: unknown): Entry | undefined {
  const { value, display, type, primary } = isObject(sent) ? lowerNames(sent) : { value: sent };
  if (value === null || value === undefined || value === '') return undefined;
  const text = readText(value, attribute);
  const isSet = (one: unknown): boolean => one !== undefined && one !== null && one !== '';
  return {
    value: attribute === 'roles' ? readRole(text) : text,
    ...(isSet(display) && { display: readText(display, attribute) }),
    ...(isSet(type) && { type: readText(type, attribute) }),
    ...(isSet(primary) && { primary: readBoolean(primary) }),
  };
}
