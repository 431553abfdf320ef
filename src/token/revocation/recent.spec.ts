import { jest } from '@jest/globals';
import { Recent } from './ended-sessions.js';

describe('texts that were added a moment ago', () => {
  let now: number;
  beforeEach(() => {
    now = 5;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => void jest.restoreAllMocks());

  it('are new once', () => {
    const recent = new Recent(100);
    expect(recent.has('a')).toBe(false);
    expect(recent.add('a')).toBe(true);
    expect(recent.has('a')).toBe(true);
    expect(recent.add('a')).toBe(false);
    expect(recent.add('b')).toBe(true);
    expect(recent.has('a')).toBe(true);
  });

  it('are remembered for the time at least, also by the last of it', () => {
    const recent = new Recent(100);
    recent.add('first'); // the turn begins
    now = 104;
    recent.add('late');
    now = 105; // the next turn
    expect(recent.add('other')).toBe(true);
    expect(recent.has('late')).toBe(true);
    now = 204;
    expect(recent.add('late')).toBe(false);
  });

  it('are forgotten after twice the time, when others are added', () => {
    const recent = new Recent(100);
    recent.add('a');
    now = 105;
    recent.add('b');
    expect(recent.has('a')).toBe(true);
    now = 205;
    recent.add('c');
    expect(recent.has('a')).toBe(false);
    expect(recent.has('b')).toBe(true);
    expect(recent.add('a')).toBe(true);
  });
});
