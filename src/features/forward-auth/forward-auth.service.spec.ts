import type { ForwardAuthDto } from './forward-auth.dto.js';
import { requireLists, requireRecent, type Authentication } from './forward-auth.service.js';

const claims = { roles: ['editor', 'reader'], groups: ['berlin'], plan: 'pro' };

it.each<[ForwardAuthDto, boolean]>([
  [{}, true],
  [{ role: 'editor' }, true],
  [{ role: ['admin', 'reader'] }, true],
  [{ role: 'berlin' }, false],
  [{ role: 'Editor' }, false],
  [{ role: 'editor,reader' }, false],
  [{ group: 'berlin' }, true],
  [{ group: ['paris', 'rome'] }, false],
  [{ role: 'editor', group: 'berlin' }, true],
  [{ role: 'admin', group: 'berlin' }, false],
  [{ role: 'editor', group: 'paris' }, false],
])('%j: %s', (needed, passes) => {
  const check = expect(() => requireLists(needed, claims));
  if (passes) check.not.toThrow();
  else check.toThrow(expect.objectContaining({ error: 'insufficient_scope' }));
});

it('needs lists: a text is no role', () => {
  expect(() => requireLists({ role: 'admin' }, { roles: 'admin' })).toThrow();
  expect(() => requireLists({ role: 'admin' }, {})).toThrow();
});

const NOW = 1_000_000;
const ago = (seconds: number): Authentication => ({ auth_time: NOW - seconds });

it.each<[ForwardAuthDto, Authentication, string | undefined]>([
  [{}, {}, undefined],
  [{ max_age: '300' }, ago(300), undefined],
  [{ max_age: '300' }, ago(360), undefined],
  [{ max_age: '300' }, ago(361), 'max_age="300"'],
  [{ max_age: '0' }, ago(61), 'max_age="0"'],
  [{ max_age: '300' }, ago(-60), undefined],
  [{ max_age: '300' }, ago(-61), 'max_age="300"'],
  [{ max_age: '300' }, {}, 'max_age="300"'],
  [{ acr: 'gold' }, { acr: 'gold' }, undefined],
  [{ acr: 'silver gold' }, { acr: 'gold' }, undefined],
  [{ acr: 'silver gold' }, { acr: 'silver gold' }, 'acr_values="silver gold"'],
  [{ acr: 'gold' }, {}, 'acr_values="gold"'],
  [{ acr: 'gold', max_age: '060' }, ago(5), 'max_age="60", acr_values="gold"'],
])('%j, authenticated %j: %s', (needed, authentication, missing) => {
  const check = expect(() => requireRecent(needed, authentication, NOW));
  if (missing === undefined) {
    check.not.toThrow();
    return;
  }
  const challenge = `Bearer error="insufficient_user_authentication", ${missing}`;
  check.toThrow(expect.objectContaining({ status: 401, headers: { 'WWW-Authenticate': challenge } }));
});
