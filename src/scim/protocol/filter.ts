import { parse, type Filter } from 'scim2-parse-filter';
import { invalid } from './scim-error.js';

/** Characters; a filter of a directory has a hundred. */
const LONGEST = 10_240;
const DEEPEST = 64;

/**
 * Parses a filter (RFC 7644 §3.4.2.2). The bounds come first: the parser recurses for each bracket and each
 * `not`, and its expression for texts takes exponential time for line breaks, which no filter has.
 * @throws ScimError `invalidFilter`
 */
export function parseFilter(text: string): Filter {
  if (text.length > LONGEST) throw refuse(`a filter must not be longer than ${LONGEST} characters`);
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  if (/[\u0000-\u001f]/.test(text)) throw refuse('a filter must not have control characters');
  if (depthOf(text) > DEEPEST) throw refuse(`a filter must not be nested deeper than ${DEEPEST}`);
  let filter: Filter | undefined;
  try {
    filter = parse(text);
  } catch {} // its message quotes the filter
  if (!filter) throw refuse('the filter cannot be read');
  return filter;
}

/** Brackets and `not`s at one place, at most. Those in texts count as well. */
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

/** The part of the library's type that is read; a comparison has a value, `pr` has none. */
export type ParsedFilter =
  | { readonly op: 'and' | 'or'; readonly filters: readonly ParsedFilter[] }
  | { readonly op: 'not'; readonly filter: ParsedFilter }
  | { readonly op: '[]'; readonly attrPath: string; readonly valFilter: ParsedFilter }
  | { readonly op: 'pr'; readonly attrPath: string }
  | {
      readonly op: 'eq' | 'ne' | 'co' | 'sw' | 'ew' | 'gt' | 'lt' | 'ge' | 'le';
      readonly attrPath: string;
      readonly compValue: boolean | null | number | string;
    };
