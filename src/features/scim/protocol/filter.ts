import { parse, type Filter } from 'scim2-parse-filter';
import { invalid } from './scim-error.js';

/** Characters; a filter of a directory has a hundred. */
const LONGEST = 10_240;
const DEEPEST = 64;

export type ParsedFilter =
  | { readonly op: 'and' | 'or'; readonly filters: readonly ParsedFilter[] }
  | { readonly op: 'not'; readonly filter: ParsedFilter }
  | { readonly op: '[]'; readonly attrPath: string; readonly valFilter: ParsedFilter }
  | Comparison;

export interface Comparison {
  readonly op: 'pr' | 'eq' | 'ne' | 'co' | 'sw' | 'ew' | 'gt' | 'lt' | 'ge' | 'le';
  readonly attrPath: string;
  /** Undefined only with `pr`. */
  readonly compValue?: boolean | null | number | string | undefined;
}

/**
 * Parses a filter (RFC 7644 §3.4.2.2). The library sees a number in place of each text: it takes backslashes
 * for themselves, and exponential time for some texts. Its parser recurses for each bracket and each `not`.
 * @throws ScimError `invalidFilter`
 */
export function parseFilter(text: string): ParsedFilter {
  if (text.length > LONGEST) throw refuse(`a filter must not be longer than ${LONGEST} characters`);
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  if (/[\u0000-\u001f]/.test(text)) throw refuse('a filter must not have control characters');
  const texts: string[] = [];
  const bare = text.replace(/"(?:[^"\\]|\\.)*("?)/gs, (quoted, end) => {
    if (end === '') throw refuse('a text of the filter has no end');
    return `"${texts.push(readText(quoted)) - 1}"`;
  });
  if (depthOf(bare) > DEEPEST) throw refuse(`a filter must not be nested deeper than ${DEEPEST}`);
  let filter: Filter | undefined;
  try {
    filter = parse(bare);
  } catch {} // its message quotes the filter
  if (!filter) throw refuse('the filter cannot be read');
  return mapComparisons(filter, (one) =>
    typeof one.compValue === 'string' ? { ...one, compValue: texts[Number(one.compValue)] } : one,
  );
}

/** Reads a text as JSON. A backslash that begins no escape stands for itself: some clients escape nothing. */
function readText(quoted: string): string {
  const json = quoted.replace(/\\(["\\/bfnrt]|u[\da-fA-F]{4})?/g, (all, escaped) => (escaped ? all : '\\\\'));
  const text = JSON.parse(json) as string;
  if (text.includes('\0') || !text.isWellFormed()) throw refuse('no attribute has such characters');
  return text;
}

/** Returns a filter with other comparisons, also those in value filters. */
export function mapComparisons(filter: ParsedFilter, change: (one: Comparison) => Comparison): ParsedFilter {
  switch (filter.op) {
    case 'and':
    case 'or':
      return { ...filter, filters: filter.filters.map((one) => mapComparisons(one, change)) };
    case 'not':
      return { ...filter, filter: mapComparisons(filter.filter, change) };
    case '[]':
      return { ...filter, valFilter: mapComparisons(filter.valFilter, change) };
    default:
      return change(filter);
  }
}

/** Brackets and `not`s at one place, at most. */
function depthOf(text: string): number {
  let [depth, deepest] = [0, 0];
  for (const [token] of text.matchAll(/[()[\]]|\bnot\b/gi)) {
    depth += token === ')' || token === ']' ? -1 : 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

function refuse(message: string): Error {
  return invalid('invalidFilter', message);
}
