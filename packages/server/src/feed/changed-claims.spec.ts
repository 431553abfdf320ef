import type { Claims } from '../token/token-signature.js';
import { ChangedClaims } from './changed-claims.js';

const [NOW, HOUR] = [1_700_000_000_000, 3_600_000];

const event = (user_id: string, claims: object, changedAt = NOW, until = NOW + HOUR): string =>
  JSON.stringify({
    user_id,
    claims,
    changed_at: new Date(changedAt).toISOString(),
    until: new Date(until).toISOString(),
  });
const token = (sub: string, iat = NOW / 1000 - 60) => ({ sub, iat }) as Claims;

it('keeps one entry for each user, until every token has the new claims', () => {
  const changed = new ChangedClaims();
  for (const roles of [['a'], ['b'], []]) changed.take(event('ada', { roles }), NOW);
  changed.take(event('grace', {}, NOW, NOW + 2 * HOUR), NOW);
  changed.take(event('linus', {}, NOW, NOW - HOUR), NOW); // of the past
  expect(changed.size).toBe(2);
  expect(changed.replacing(token('ada'))).toEqual({ roles: [] });
  expect(changed.replacing(token('linus'))).toBeUndefined();
  changed.sweep(NOW + HOUR + 299_000); // this machine's clock may be wrong
  expect(changed.size).toBe(2);
  changed.sweep(NOW + HOUR + 300_000);
  expect(changed.size).toBe(1);
});

it('is bounded by the size of the claims, and counts none twice', () => {
  const changed = new ChangedClaims();
  const large = { note: 'x'.repeat(1_000_000) };
  for (let i = 0; i < 150; i++) changed.take(event('ada', large), NOW);
  const fill = (): void => {
    for (let i = 0; i < 120; i++) changed.take(event(String(i), large), NOW);
  };
  expect(fill).toThrow(RangeError);
  expect(changed.size).toBeGreaterThan(90);
  changed.sweep(NOW + 2 * HOUR);
  expect(changed.size).toBe(0);
  expect(() => changed.take(event('ada', large), NOW)).not.toThrow();
});
