const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

/** `1 hour`, `90 seconds`: in the largest unit that needs no fraction. @param {number} seconds */
export function duration(seconds) {
  const [unit, size] = UNITS.find(([, one]) => seconds >= one && seconds % one === 0) ?? UNITS.at(-1);
  return new Intl.NumberFormat('en', { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / size);
}
