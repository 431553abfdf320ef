/** Longer names are not compared: each would be compared with dozens of others, and none of ours is nearly as long. */
const LONGEST = 100;
/** Shorter names are one slip away from too many other words. */
const SHORTEST_SLIP = 8;

/**
 * The one of `known` that was probably meant by a name that is not among them, or `undefined`: the same letters in another
 * case, without underscores, or with an S more or less at the end of a word (`CORS_ORIGIN`); a long one with one typing
 * error (`REDIRCT_URIS`); or one with `_FILE`, which only secrets have.
 */
export function lookAlike(name: string, known: readonly string[]): string | undefined {
  if (name.length > LONGEST || known.includes(name)) return undefined;
  const base = name.replace(/_file$/i, '');
  return known.find(
    (other) =>
      base === other ||
      letters(name) === letters(other) ||
      (other.length >= SHORTEST_SLIP && isOneSlip(name, other)),
  );
}

function letters(name: string): string {
  const words = name.toUpperCase().split(/[_.-]+/);
  return words.map((word) => word.replace(/S$/, '')).join('');
}

/** One letter left out, added or mistaken, or two next to each other swapped. */
function isOneSlip(one: string, other: string): boolean {
  let start = 0;
  while (start < one.length && one[start] === other[start]) start++;
  const rest = Math.min(one.length, other.length) - start;
  let end = 0;
  while (end < rest && one.at(-1 - end) === other.at(-1 - end)) end++;
  const [a, b] = [one, other].map((text) => text.slice(start, text.length - end)) as [string, string];
  return (a.length <= 1 && b.length <= 1) || (a.length === 2 && b.length === 2 && a === `${b[1]}${b[0]}`);
}
