import { randomUUID } from 'node:crypto';
import { areWithinLimits, describeCuts, fitClaims } from './claim-limits.js';
import { effectiveClaims } from './claims.js';

const guids = (count: number): string[] => Array.from({ length: count }, () => randomUUID());

it('keeps the first groups that fit: 104 ids of 36 characters', () => {
  const groups = guids(200);
  const { claims, cuts } = fitClaims({ groups });
  expect(claims).toEqual({ groups: groups.slice(0, 104) });
  expect(cuts).toEqual([{ name: 'groups', fitting: 104, of: 200 }]);
  expect(fitClaims({ groups: groups.slice(0, 104) }).cuts).toEqual([]);
  expect(fitClaims({ groups: groups.slice(0, 105) }).cuts).toHaveLength(1);
});

it('keeps small claims before the list that is too long, whatever their order', () => {
  const groups = guids(200);
  const { claims } = fitClaims({ groups, roles: ['admin'], plan: 'pro', note: 'x'.repeat(5000) });
  expect(Object.keys(claims)).toEqual(['groups', 'roles', 'plan']);
  expect(claims).toMatchObject({ roles: ['admin'], plan: 'pro' });
});

it.each<[string, string]>([
  ['ASCII', 'x'],
  ['two bytes', 'ä'],
  ['four bytes', '🔑'],
  ['escaped', '"'],
  ['control characters', '\u0001'],
])('counts bytes of JSON: %s', (_name, character) => {
  const roles = Array.from({ length: 900 }, (_, i) => `${i}${character.repeat(9)}`);
  const { claims, cuts } = fitClaims({ roles });
  const bytes = Buffer.byteLength(JSON.stringify(claims));
  expect([bytes <= 4096, bytes > 4000, cuts.length]).toEqual([true, true, 1]);
});

it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
  ['a list beside another claim', { groups: guids(104) }, { plan: 'x'.repeat(2000) }],
  ['a list beside the same', { groups: guids(104) }, { groups: guids(60) }],
  ['a claim of another name', { note: 'x'.repeat(3000) }, { plan: 'x'.repeat(2000) }],
  [
    'names',
    Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`p${i}`, i])),
    Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`a${i}`, i])),
  ],
])('fits both sources together: %s', (_name, provider, application) => {
  const { claims, cuts } = fitClaims(provider, application);
  expect(areWithinLimits(effectiveClaims(claims, application))).toBe(true);
  expect(areWithinLimits(effectiveClaims(provider, application))).toBe(false);
  expect(cuts.length).toBeGreaterThan(0);
});

it('cuts nothing that both have, or that the application replaces', () => {
  const groups = guids(100);
  expect(fitClaims({ groups }, { groups }).cuts).toEqual([]);
  expect(fitClaims({ plan: 'x'.repeat(4000) }, { plan: 'y'.repeat(4000) }).cuts).toEqual([]);
});

it('describes what is cut, with the setting that helps', () => {
  const { cuts } = fitClaims({ groups: guids(200), note: 'x'.repeat(5000) });
  expect(describeCuts(cuts, (name) => `providers.corp.map_${name}`)).toBe(
    'claims beyond 4096 bytes or 100 names of all sources: note is dropped, 104 of 200 groups are kept (providers.corp.map_groups can keep only those in use)',
  );
});
