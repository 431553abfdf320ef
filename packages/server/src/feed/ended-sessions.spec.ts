import { EndedSessions } from './ended-sessions.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const [MINUTE, HOUR] = [60_000, 3_600_000];

describe('ended sessions', () => {
  let sessions: EndedSessions;
  beforeEach(() => {
    sessions = new EndedSessions();
  });

  it('are known until their tokens have expired, and a few minutes longer', () => {
    sessions.add('a', NOW + HOUR, NOW);
    for (const later of [0, HOUR - 1, HOUR + 4 * MINUTE]) {
      sessions.sweep(NOW + later);
      expect(sessions.has('a')).toBe(true);
    }
    sessions.sweep(NOW + HOUR + 6 * MINUTE);
    expect([sessions.has('a'), sessions.size]).toEqual([false, 0]);
  });

  it('added twice, they are kept for the longer time', () => {
    sessions.add('a', NOW + HOUR, NOW);
    sessions.add('a', NOW, NOW);
    sessions.sweep(NOW + HOUR);
    expect(sessions.has('a')).toBe(true);
  });

  it('whose tokens have expired are not kept at all', () => {
    sessions.add('a', NOW - HOUR, NOW);
    expect(sessions.size).toBe(0);
  });

  it('are known longer where tokens are accepted after their expiry, also when the clock is set back a little', () => {
    const tolerant = new EndedSessions(300);
    tolerant.add('a', NOW, NOW);
    tolerant.sweep(NOW + 9 * MINUTE);
    expect([tolerant.has('a'), tolerant.hasRemovedTooMuch(NOW + 4 * MINUTE)]).toEqual([true, false]);
    tolerant.sweep(NOW + 11 * MINUTE);
    expect(tolerant.size).toBe(0);
  });

  it('know when the clock was set back behind what they have forgotten', () => {
    sessions.sweep(NOW);
    expect(sessions.hasRemovedTooMuch(NOW - 4 * MINUTE)).toBe(false);
    expect(sessions.hasRemovedTooMuch(NOW - 6 * MINUTE)).toBe(true);
    sessions.restart();
    expect(sessions.hasRemovedTooMuch(NOW - 6 * MINUTE)).toBe(false);
  });
});
