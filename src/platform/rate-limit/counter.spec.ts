import { jest } from '@jest/globals';
import { Counter } from './counter.js';

describe('keys in memory', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('have a greatest number; beyond it, new ones share the key of their wider network, and old ones keep their own', async () => {
    const counter = new Counter('test', 2, undefined, 100);
    const passes = async (key: string): Promise<boolean> => (await counter.count(key)) === undefined;
    for (let i = 0; i < 100; i++) expect(await passes(`192.0.2.${i}`)).toBe(true);

    expect(await passes('192.0.2.7')).toBe(true); // its second
    expect(await passes('192.0.2.7')).toBe(false);
    expect(await passes('198.51.100.1')).toBe(true);
    expect(await passes('198.51.100.2')).toBe(true);
    expect(await passes('198.51.7.3')).toBe(false); // the third of 198.51.0.0/16
    expect(await passes('203.0.113.1')).toBe(true); // of another one

    jest.advanceTimersByTime(120_000);
    for (let i = 0; i < 3; i++) expect(await passes(`198.51.100.${i}`)).toBe(true); // each its first
    expect(jest.getTimerCount()).toBe(6); // two for each key: of the library, and of the counter
  });

  it('do not grow with the number of addresses', async () => {
    const counter = new Counter('test', 2, undefined, 100);
    for (let i = 0; i < 10_000; i++)
      await counter.count(`2001:db8:${(i >> 8).toString(16)}:${(i & 255).toString(16)}::/64`);
    expect(jest.getTimerCount()).toBe(202); // of a hundred keys, and 2001:db8::/32
  });
});
