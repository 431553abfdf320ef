import { attributeNamed, type ResourceKind } from './names.js';
import { parseFilter, type ParsedFilter } from './filter.js';
import { LIST_SCHEMA, MOST_RESULTS } from './schemas.js';
import { invalid } from './scim-error.js';

export type Query = Readonly<Record<string, unknown>>;

/** Which attributes an answer has (RFC 7644 §3.9). */
export interface Projection {
  readonly includes: (attribute: string) => boolean;
  /** Leaves out what was not asked for; `schemas`, `id` and, by default, `meta` stay. */
  readonly apply: (resource: object) => object;
}

export interface Page {
  readonly filter: ParsedFilter | undefined;
  /** Of the first result; 1 is the first. */
  readonly startIndex: number;
  readonly count: number;
}

const USUAL_COUNT = 100;
const LAST_INDEX = 10_000_000;

/** Reads the parameters of a list (RFC 7644 §3.4.2). @throws ScimError `invalidFilter`, `invalidValue` */
export function readPage(query: Query): Page {
  const filter = textIn(query, 'filter');
  return {
    filter: filter === undefined ? undefined : parseFilter(filter),
    startIndex: Math.min(Math.max(integerIn(query, 'startIndex', 1), 1), LAST_INDEX),
    count: Math.min(Math.max(integerIn(query, 'count', USUAL_COUNT), 0), MOST_RESULTS),
  };
}

export function listOf(resources: readonly object[], total: number, startIndex: number): object {
  return {
    schemas: [LIST_SCHEMA],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}

/** @throws ScimError `invalidValue` if both parameters are given */
export function readProjection(kind: ResourceKind, query: Query): Projection {
  const [wanted, excluded] = [namesIn(query, 'attributes'), namesIn(query, 'excludedAttributes')];
  if (wanted && excluded)
    throw invalid('invalidValue', 'attributes and excludedAttributes exclude each other');
  const named = (wanted ?? excluded ?? []).flatMap((name) => attributeNamed(kind, name) ?? []);
  const whole = new Set(named.filter(({ sub }) => sub === undefined).map(({ name }) => name));
  const parts = named.filter(({ sub }) => sub !== undefined);
  const partsOf = (attribute: string) => parts.flatMap(({ name, sub }) => (name === attribute ? sub! : []));
  const isAlways = (attribute: string) => attribute === 'id' || attribute === 'schemas';
  const includes = (attribute: string): boolean => {
    if (isAlways(attribute) || (!wanted && !excluded)) return true;
    return wanted ? whole.has(attribute) || partsOf(attribute).length > 0 : !whole.has(attribute);
  };
  const apply = (resource: object): object => {
    const entries = Object.entries(resource as Query).filter(([name]) => includes(name));
    return Object.fromEntries(
      entries.map(([name, value]) => {
        const listed = partsOf(name);
        if (listed.length === 0 || whole.has(name)) return [name, value];
        const keep = (part: string) => listed.includes(part) === (wanted !== undefined);
        return [name, Array.isArray(value) ? value.map((one) => pick(one, keep)) : pick(value, keep)];
      }),
    );
  };
  return { includes, apply };
}

function pick(value: unknown, keep: (part: string) => boolean): object {
  return Object.fromEntries(Object.entries(value as object).filter(([part]) => keep(part)));
}

/** Names of parameters have a case (RFC 3986 §6.2.2.1). */
function textIn(query: Query, name: string): string | undefined {
  const value = query[name];
  if (Array.isArray(value)) throw invalid('invalidValue', `${name} must not be repeated`);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function integerIn(query: Query, name: string, usual: number): number {
  const text = textIn(query, name);
  if (text === undefined) return usual;
  if (!/^-?\d{1,15}$/.test(text)) throw invalid('invalidValue', `${name} must be a whole number`);
  return Number(text);
}

const MOST_NAMES = 100;

function namesIn(query: Query, name: string): string[] | undefined {
  const names = textIn(query, name)
    ?.split(',')
    .map((one) => one.trim());
  if (names && names.length > MOST_NAMES) throw invalid('invalidValue', `${name} has too many names`);
  return names;
}
