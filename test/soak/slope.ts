import { median, type Point } from './series.js';

/** Of a line through points, in units of the value for each unit of time. */
export interface Slope {
  readonly estimate: number;
  /** Between these it lies with 95 % of probability, if what is noise at one point is not at the next. */
  readonly low: number;
  readonly high: number;
}

const Z_95 = 1.96;

/**
 * The slope of Theil and Sen: the median of the slopes of all pairs of points, which a quarter of wild points does not move (a
 * collection of garbage, a checkpoint). The interval is Sen's (J. Am. Stat. Assoc. 63, 1968): as many pairs to each side of the
 * median as Kendall's S may be away from 0 by chance.
 *
 * @param points at least two, at different times; pairs grow with their square, so a few hundred at most
 */
export function slopeOf(points: readonly Point[]): Slope {
  const slopes = points
    .flatMap(([at, value], i) => points.slice(i + 1).map(([later, then]) => (then - value) / (later - at)))
    .filter(Number.isFinite)
    .toSorted((one, other) => one - other);
  const n = points.length;
  const away = Z_95 * Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18);
  const at = (rank: number): number => slopes[Math.min(slopes.length - 1, Math.max(0, rank))] ?? NaN;
  return {
    estimate: median(slopes),
    low: at(Math.floor((slopes.length - away) / 2)),
    high: at(Math.ceil((slopes.length + away) / 2)),
  };
}

/** In units that are so many times smaller, or over a time that is so many times longer. */
export function times({ estimate, low, high }: Slope, factor: number): Slope {
  return { estimate: estimate * factor, low: low * factor, high: high * factor };
}

/** E.g. `4.6 (2.2 to 6.1)`. */
export function slopeText({ estimate, low, high }: Slope, digits = 1): string {
  return `${estimate.toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
}
