/** One look at everything: minutes since the beginning, and what was seen, by name (e.g. `a rss`, `rows access_tokens`). */
export interface Sample {
  readonly minutes: number;
  readonly values: Readonly<Record<string, number>>;
}

export type Point = readonly [minutes: number, value: number];

/** The names of all series, in the order in which they came. */
export function namesOf(samples: readonly Sample[]): string[] {
  return [...new Set(samples.flatMap(({ values }) => Object.keys(values)))];
}

/** One series: the samples that have it. */
export function seriesOf(samples: readonly Sample[], name: string): Point[] {
  return samples.flatMap(({ minutes, values }) => {
    const value = values[name];
    return value === undefined ? [] : [[minutes, value] as const];
  });
}

/** A series made of others, e.g. a sum: the samples that have all of them. */
export function combined(
  samples: readonly Sample[],
  names: readonly string[],
  combine: (...values: number[]) => number,
): Point[] {
  return samples.flatMap(({ minutes, values }) => {
    const found = names.flatMap((name) => values[name] ?? []);
    return found.length < names.length ? [] : [[minutes, combine(...found)] as const];
  });
}

/**
 * One point for each span of time, at its middle.
 * @param span minutes
 * @param choose what stands for the values of a span, e.g. their median
 */
export function bySpan(
  points: readonly Point[],
  span: number,
  choose: (values: readonly number[]) => number,
): Point[] {
  const spans = new Map<number, number[]>();
  for (const [minutes, value] of points) {
    const index = Math.floor(minutes / span);
    spans.set(index, [...(spans.get(index) ?? []), value]);
  }
  return [...spans].map(([index, values]) => [(index + 0.5) * span, choose(values)] as const);
}

/** NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? NaN : (low + high) / 2;
}

/** Minutes from the first to the last point. */
export function spanOf(points: readonly Point[]): number {
  return (points.at(-1)?.[0] ?? NaN) - (points[0]?.[0] ?? NaN);
}

/** The largest value; -Infinity of nothing. */
export function most(points: readonly Point[]): number {
  return Math.max(...points.map(([, value]) => value));
}

export function lowest(values: readonly number[]): number {
  return Math.min(...values);
}
