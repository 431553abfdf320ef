import { jest } from '@jest/globals';

// Of the whole file, which so has its modules for itself: standstill.ts takes timer and clock when it is loaded.
jest.useFakeTimers();

/** A process that stands still: its clock goes on, its timers do not. */
describe('a standstill', () => {
  let standstill: typeof import('./standstill.js');
  let stood = 0;

  beforeAll(async () => {
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + stood);
    standstill = await import('./standstill.js');
  });
  afterAll(() => jest.restoreAllMocks());

  function limited(ms: number): () => boolean {
    const expire = jest.fn();
    standstill.timeLimit(ms, expire);
    return () => expire.mock.calls.length > 0;
  }

  it('is a time in which no timer ran, of more than half a second', async () => {
    const began = standstill.timeNow();
    await jest.advanceTimersByTimeAsync(5000);
    expect(standstill.stoodStillSince(began)).toBe(false);
    stood += 390;
    expect(standstill.stoodStillSince(began)).toBe(false);
    stood += 200;
    expect(standstill.stoodStillSince(began)).toBe(true);
    expect(standstill.lastWoke()).toBe(performance.now());
  });

  it('is not since a time that was taken right after it', () => {
    stood += 2000;
    const began = standstill.timeNow();
    expect(standstill.stoodStillSince(began)).toBe(false);
    expect(standstill.stoodStillSince(began - 1)).toBe(true);
  });

  it('makes a time limit begin anew, once', async () => {
    await jest.advanceTimersByTimeAsync(100);
    const isOver = limited(1000);
    await jest.advanceTimersByTimeAsync(900);
    stood += 5000;
    await jest.advanceTimersByTimeAsync(200);
    expect(isOver()).toBe(false);
    await jest.advanceTimersByTimeAsync(700);
    stood += 5000;
    expect(isOver()).toBe(false);
    await jest.advanceTimersByTimeAsync(210);
    expect(isOver()).toBe(true);
  });

  it('of before changes nothing for a time limit, even if nobody has looked since', async () => {
    stood += 2000;
    const isOver = limited(1000);
    await jest.advanceTimersByTimeAsync(990);
    expect(isOver()).toBe(false);
    await jest.advanceTimersByTimeAsync(20);
    expect(isOver()).toBe(true);
  });

  it('is nothing to a time limit that was ended', async () => {
    const expire = jest.fn();
    const end = standstill.timeLimit(1000, expire);
    await jest.advanceTimersByTimeAsync(900);
    stood += 2000;
    await jest.advanceTimersByTimeAsync(200);
    end();
    await jest.advanceTimersByTimeAsync(5000);
    expect(expire).not.toHaveBeenCalled();
  });
});
