/**
 * Returns the known name that an unknown one resembles: equal but for case, underscores, an S at the end of a word
 * (`CORS_ORIGIN`) or `_FILE`, or with one typing error (`REDIRCT_URIS`). Shorter names resemble too many other words.
 */
export function suggestionFor(name: string, known: readonly string[], minLength = 8): string | undefined {
  if (known.includes(name)) return undefined;
  const base = name.replace(/_file$/i, '');
  const normalized = normalize(name);
  return known.find(
    (other) =>
      base === other ||
      normalized === normalize(other) ||
      (other.length >= minLength && hasOneTypo(name, other)),
  );
}

function normalize(name: string): string {
  const words = name.toUpperCase().split(/[_.-]+/);
  return words.map((word) => word.replace(/S$/, '')).join('');
}

/** One letter omitted, added or replaced, or two neighbours swapped. */
function hasOneTypo(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1) return false;
  let start = 0;
  while (start < one.length && one[start] === other[start]) start++;
  const [a, b] = [one.slice(start), other.slice(start)];
  if (a.slice(1) === b.slice(1) || a.slice(1) === b || a === b.slice(1)) return true;
  return a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
}
