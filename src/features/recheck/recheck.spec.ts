import { nextAttempt } from './recheck.js';

describe('the next attempt', () => {
  const now = Date.parse('2026-11-27T08:00:00Z');
  const since = new Date(now);
  const inSeconds = (attempts: number, random = 0, graceS = 86_400): number =>
    (nextAttempt(attempts, now, since, graceS, random).getTime() - now) / 1000;

  it.each([
    [0, 10],
    [1, 20],
    [3, 80],
    [6, 600],
    [100_000, 600],
  ])('after %i others follows in %i s', (attempts, seconds) => expect(inSeconds(attempts)).toBe(seconds));

  it('is up to a fifth earlier', () => expect(inSeconds(0, 1)).toBe(8));

  it('is not later than the end of the grace, and not before now', () => {
    expect(inSeconds(6, 0, 60)).toBe(60);
    const past = new Date(now - 100_000);
    expect(nextAttempt(6, now, past, 60, 0)).toEqual(new Date(now));
  });
});
