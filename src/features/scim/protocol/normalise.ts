import { isObject } from '../../../platform/http/parameters/json.js';
import { attributeNamed, type AttributeName, type ResourceKind } from './names.js';
import { mapComparisons, parseFilter, type ParsedFilter } from './filter.js';
import { invalid } from './scim-error.js';

/**
 * What directories send beside the RFC, and what is read. The sources:
 * Entra: https://learn.microsoft.com/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups
 * and …/application-provisioning-config-problem-scim-compatibility; Okta:
 * https://developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20/
 *
 * | sent | by | read as |
 * |---|---|---|
 * | `op` `Add`, `Replace`, `Remove` | Entra | `add`, `replace`, `remove` |
 * | `"False"`, `"True"` for a boolean, also in a value filter | Entra | `false`, `true` |
 * | `replace` without path, with dotted keys and value filters as keys | Entra | an operation for each key |
 * | `replace` without path, with `id` beside the new name of a group | Okta | `id` is ignored |
 * | path or key with the URN of the core schema | Entra, RFC 7644 §3.10 | without it |
 * | names in another case | RFC 7643 §2.1 | as in the schema |
 * | URN of an unknown schema, in `schemas`, as a path or as a key | Entra (groups) | ignored |
 * | a value of a list as `[{"value": "x"}]` for an attribute with one value | Entra | `x` |
 * | a role as a text, or as JSON in a text (`AppRoleAssignmentsComplex`) | Entra | its value |
 * | `null`, `""` and `[]` for no value | RFC 7643 §2.5 | no value |
 * | `password`, read-only and unknown attributes | Okta | ignored |
 */

/** Operation with a path that the schema has. */
export interface Operation extends AttributeName {
  readonly op: 'add' | 'replace' | 'remove';
  /** Which values of a list are meant. */
  readonly filter?: ParsedFilter | undefined;
  /** Undefined only with `remove`. */
  readonly value?: unknown;
}

const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:patchop';
/** Each key of a value without a path is an operation. */
const MOST_OPERATIONS: Readonly<Record<ResourceKind, number>> = { User: 200, Group: 1000 };
const LONGEST_PATH = 1024;
/** Of the paths of a request together: each filter in them is parsed. */
const LONGEST_PATHS = 65_536;

/** Reads the body of a PATCH (RFC 7644 §3.5.2). @throws ScimError `invalidSyntax`, `invalidPath`, … */
export function readOperations(kind: ResourceKind, body: Readonly<Record<string, unknown>>): Operation[] {
  const { schemas: named, operations } = lowerNames(body);
  const schemas = [named].flat();
  if (!schemas.some((one) => String(one).toLowerCase() === PATCH_SCHEMA)) {
    throw invalid('invalidSyntax', 'schemas must name the PatchOp message');
  }
  if (!Array.isArray(operations) || operations.length === 0) {
    throw invalid('invalidSyntax', 'Operations must be a list that is not empty');
  }
  const most = MOST_OPERATIONS[kind];
  let [left, characters] = [most, LONGEST_PATHS];
  return (operations as unknown[]).flatMap((sent) => {
    if (!isObject(sent)) throw invalid('invalidSyntax', 'an operation must be an object');
    const operation = lowerNames(sent);
    const { path, value } = operation;
    const paths =
      typeof path === 'string' && path !== '' ? [path] : isObject(value) ? Object.keys(value) : [''];
    left -= paths.length;
    characters -= paths.reduce((sum, { length }) => sum + length, 0);
    if (left < 0) throw invalid('tooMany', `a request must not have more than ${most} operations`);
    if (characters < 0) throw invalid('tooMany', 'the paths of the request are too long');
    return readOperation(kind, operation);
  });
}

function readOperation(
  kind: ResourceKind,
  { op: name, path, value }: Readonly<Record<string, unknown>>,
): Operation[] {
  const op = typeof name === 'string' ? name.toLowerCase() : '';
  if (op !== 'add' && op !== 'replace' && op !== 'remove') {
    throw invalid('invalidSyntax', 'op must be add, replace or remove');
  }
  if (path !== undefined && path !== null && path !== '') {
    if (typeof path !== 'string') throw invalid('invalidPath', 'path must be a text');
    return operationAt(kind, op, path, value);
  }
  if (op === 'remove') throw invalid('noTarget', 'remove needs a path');
  if (!isObject(value)) throw invalid('invalidValue', 'without a path, value must be an object');
  return Object.entries(value).flatMap(([key, one]) => operationAt(kind, op, key, one));
}

/** `attribute`, `attribute.part`, `attribute[filter]` or `attribute[filter].part`. */
function operationAt(kind: ResourceKind, op: Operation['op'], path: string, value: unknown): Operation[] {
  if (path.length > LONGEST_PATH) throw invalid('invalidPath', 'the path is too long');
  const begin = path.indexOf('[');
  const end = path.lastIndexOf(']');
  const isFiltered = begin !== -1;
  if (isFiltered && end < begin) throw invalid('invalidPath', 'the path cannot be read');
  const after = isFiltered ? path.slice(end + 1) : '';
  if (after !== '' && !/^\.[\w$-]+$/.test(after)) throw invalid('invalidPath', 'the path cannot be read');
  const target = attributeNamed(kind, isFiltered ? path.slice(0, begin) + after : path);
  if (!target || target.name === 'id' || target.name === 'schemas' || target.name === 'meta') return [];
  const filter = isFiltered ? readValueFilter(kind, target.name, path.slice(begin + 1, end)) : undefined;
  if (op !== 'remove' && value === undefined) throw invalid('invalidValue', 'the operation needs a value');
  if (op === 'remove') return [{ op, ...target, filter, ...(value !== null && { value }) }];
  if (value === null || value === '') return [{ op: 'remove', ...target, filter }];
  return [{ op, ...target, filter, value }];
}

/** @throws ScimError `invalidFilter` for a part that is not kept: an entry would seem to be without it */
function readValueFilter(kind: ResourceKind, attribute: string, text: string): ParsedFilter {
  return mapComparisons(parseFilter(text), (one) => {
    const sub = attributeNamed(kind, `${attribute}.${one.attrPath}`)?.sub;
    if (sub === undefined) throw invalid('invalidFilter', 'the filter names a part that is not kept');
    const isTruth = sub === 'primary' && typeof one.compValue === 'string';
    return { ...one, attrPath: sub, ...(isTruth && { compValue: readBoolean(one.compValue) }) };
  });
}

/** Members of an object that is read; resources have some twenty. */
const MOST_MEMBERS = 200;

/** @throws ScimError `invalidValue` for an object with too many members */
export function entriesOf(object: Readonly<Record<string, unknown>>): [name: string, value: unknown][] {
  const entries = Object.entries(object);
  if (entries.length <= MOST_MEMBERS) return entries;
  throw invalid('invalidValue', `an object must not have more than ${MOST_MEMBERS} members`);
}

/** Returns the members of an object by their names in lower case. */
export function lowerNames(object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(entriesOf(object).map(([name, value]) => [name.toLowerCase(), value]));
}

const SCALARS = new Set(['userName', 'externalId', 'displayName', 'active']);

/** Returns the value of a kept attribute; undefined if it is none. @throws ScimError `invalidValue` */
export function readValue(attribute: string, sent: unknown): unknown {
  const value = SCALARS.has(attribute) && Array.isArray(sent) ? singleValue(sent) : sent;
  if (value === undefined || value === null || value === '') return undefined;
  if (attribute === 'active') return readBoolean(value);
  if (SCALARS.has(attribute)) return readText(value, attribute);
  return value;
}

function singleValue(values: readonly unknown[]): unknown {
  if (values.length > 1) throw invalid('invalidValue', 'an attribute has more values than one');
  const [first] = values;
  return isObject(first) ? first['value'] : first;
}

export function readBoolean(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string' && /^(?:true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  throw invalid('invalidValue', 'a boolean must be true or false');
}

const LONGEST_TEXT = 1024;

/** Numbers count as texts: employee numbers are often sent so. */
export function readText(value: unknown, attribute: string): string {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  const isStorable =
    typeof text === 'string' && text.length <= LONGEST_TEXT && text.isWellFormed() && !text.includes('\0');
  if (!isStorable)
    throw invalid('invalidValue', `${attribute} must be a text of at most ${LONGEST_TEXT} characters`);
  return text;
}
