/**
 * Refuses an option that does not exist: a misspelled one would be ignored.
 * @param caller for the message
 * @param names all options that there are
 * @throws TypeError with the option that is probably meant
 */
export function checkNames<Options extends object>(
  caller: string,
  options: Options,
  names: Readonly<Record<keyof Required<Options> & string, true>>,
): void {
  const known = Object.keys(names);
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(names, name)) continue;
    const meant = known.find((other) => resembles(name, other));
    const cure = meant === undefined ? `there are ${known.join(', ')}` : `did you mean ${meant}?`;
    throw new TypeError(`${caller} has no option ${name}: ${cure}`);
  }
}

/** Equal but for case, `_`, `-` and a final s, or with one typing error. */
function resembles(name: string, other: string): boolean {
  const [one, two] = [name, other].map((text) => text.toLowerCase().replaceAll(/[_-]|s$/g, '')) as [
    string,
    string,
  ];
  return one === two || (two.length >= 4 && hasOneTypo(one, two));
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
