import { decodePercent, parser, InvalidValue, type Parser } from '../settings/parsers.js';

/** Values of a list of the provider that a user keeps, and their names (`map_<claim>`). */
export interface ClaimMap {
  readonly names: ReadonlyMap<string, string>;
  /** Whether other values are kept as they are. */
  readonly keepsOthers: boolean;
}

const KEY = /^map_(.+)$/s;

/** Returns the claim that a key `map_<claim>` is about; undefined for another key. */
export function mappedClaim(key: string): string | undefined {
  return KEY.exec(key)?.[1];
}

export const claimMap: Parser<ClaimMap> = parser(
  '<value>=<name> pairs separated by commas, each value once, percent-encoded where they have a comma, = or %; a last * keeps all others',
  (text) => {
    const entries = text.split(',').map((entry) => entry.trim());
    const keepsOthers = entries.at(-1) === '*';
    const pairs = keepsOthers ? entries.slice(0, -1) : entries;
    const names = new Map<string, string>();
    for (const pair of pairs) {
      const [value, name, ...others] = pair.split('=').map((part) => decodePercent(part.trim()));
      if (!value || !name || others.length > 0 || names.has(value)) throw new InvalidValue(pair);
      names.set(value, name);
    }
    return names.size > 0 ? { names, keepsOthers } : undefined;
  },
);
