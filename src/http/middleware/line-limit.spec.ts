import { jest } from '@jest/globals';
import { LineLimit } from './line-limit.js';

describe('LineLimit', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('admits a hundred a second, and tells how many it left out', () => {
    const told: number[] = [];
    const limit = new LineLimit((left) => void told.push(left));
    const admitted = (times: number) =>
      Array.from({ length: times }, () => limit.admits()).filter(Boolean).length;
    expect(admitted(1000)).toBe(100);
    expect(told).toEqual([]);
    jest.advanceTimersByTime(1000);
    expect(told).toEqual([900]);
    expect(admitted(100)).toBe(100);
    jest.advanceTimersByTime(60_000);
    expect(told).toEqual([900]); // nothing more was left out, so nothing more is told
    expect(jest.getTimerCount()).toBe(0);
  });
});
