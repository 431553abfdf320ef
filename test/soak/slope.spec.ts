import { Histogram } from './histogram.js';
import { bySpan, lowest, median, namesOf, seriesOf, type Point } from './series.js';
import { slopeOf } from './slope.js';

/** The same numbers at each run, evenly from -0.5 to 0.5. */
function noise(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647 - 0.5;
}

/** One point a minute: 200 at first, with a growth an hour. */
function memory(growth: number, wild = 0): Point[] {
  const random = noise(42);
  return Array.from({ length: 36 }, (_, i) => {
    const spike = i % 5 === 0 ? wild : 0;
    return [i, 200 + (growth * i) / 60 + 6 * random() + spike] as const;
  });
}

describe('the slope of a series', () => {
  it('of a line is exact, with nothing to doubt', () => {
    expect(slopeOf([0, 1, 2, 3, 4, 5, 6, 7].map((at) => [at, 5 + 3 * at]))).toEqual({
      estimate: 3,
      low: 3,
      high: 3,
    });
  });

  it('of noise about a level is about 0, which the interval holds', () => {
    const { estimate, low, high } = slopeOf(memory(0));
    expect(Math.abs(estimate) * 60).toBeLessThan(4);
    expect([low < 0, high > 0]).toEqual([true, true]);
  });

  it('of a leak in the same noise is the leak, and the interval has no 0 in it', () => {
    const { estimate, low, high } = slopeOf(memory(24));
    expect(estimate * 60).toBeGreaterThan(20);
    expect(estimate * 60).toBeLessThan(28);
    expect([low > 0, high * 60 > 24]).toEqual([true, true]);
  });

  it('is not moved by wild points, one in five', () => {
    expect(slopeOf(memory(24, 500)).estimate * 60).toBeGreaterThan(18);
    expect(slopeOf(memory(24, 500)).estimate * 60).toBeLessThan(30);
  });

  it('of too little is not a number', () => {
    expect(slopeOf([[0, 1]]).estimate).toBeNaN();
  });
});

describe('a series', () => {
  const samples = [
    { minutes: 0.2, values: { a: 3 } },
    { minutes: 0.7, values: { a: 9, b: 1 } },
    { minutes: 0.9, values: { a: 4, b: 2 } },
    { minutes: 2.1, values: { a: 5 } },
  ];

  it('is of the samples that have it; spans without one have no point', () => {
    expect(namesOf(samples)).toEqual(['a', 'b']);
    expect(seriesOf(samples, 'b')).toEqual([
      [0.7, 1],
      [0.9, 2],
    ]);
    expect(bySpan(seriesOf(samples, 'a'), 1, lowest)).toEqual([
      [0.5, 3],
      [2.5, 5],
    ]);
    expect(bySpan(seriesOf(samples, 'a'), 1, median)[0]).toEqual([0.5, 4]);
  });
});

describe('a histogram of times', () => {
  it('knows quantiles to 4 %, and the greatest exactly', () => {
    const histogram = new Histogram();
    expect(histogram.quantile(0.5)).toBeNaN();
    for (let i = 1; i <= 1000; i++) histogram.add(i);
    for (const share of [0.1, 0.5, 0.99]) {
      expect(histogram.quantile(share) / (share * 1000)).toBeGreaterThanOrEqual(1);
      expect(histogram.quantile(share) / (share * 1000)).toBeLessThan(1.05);
    }
    expect([histogram.quantile(1), histogram.max, histogram.count]).toEqual([1000, 1000, 1000]);
  });
});
