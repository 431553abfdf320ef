import { UUID, uuidOfNow } from './uuid.js';

describe('uuidOfNow()', () => {
  it('makes a UUID of version 7, which begins with the time', () => {
    const [before, made, after] = [Date.now(), uuidOfNow(), Date.now()];
    expect(made).toMatch(UUID);
    expect(made).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab]/);
    const time = parseInt(made.replace('-', '').slice(0, 12), 16);
    expect(time).toBeGreaterThanOrEqual(before);
    expect(time).toBeLessThanOrEqual(after);
    expect(uuidOfNow()).not.toBe(made);
  });
});
