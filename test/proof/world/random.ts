/** A number from `from` up to `to`. @param random as `Math.random` */
export function randomBetween(random: () => number, from: number, to: number): number {
  return from + random() * (to - from);
}
