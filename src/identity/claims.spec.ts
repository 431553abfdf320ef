import { areSameClaims, effectiveClaims, tokenMembers, type Claims } from './claims.js';

const json = (text: string): Claims => JSON.parse(text) as Claims;

describe('claims of two sources', () => {
  it.each<[provider: Claims, application: Claims, effective: Claims]>([
    [{}, {}, {}],
    [{ roles: ['a', 'b'] }, { roles: ['c', 'a'] }, { roles: ['a', 'b', 'c'] }],
    [
      { groups: ['x'], plan: 'free' },
      { entitlements: ['e'] },
      { groups: ['x'], plan: 'free', entitlements: ['e'] },
    ],
    [{ plan: 'free', name: 'Ada' }, { plan: { tier: 2 } }, { plan: { tier: 2 }, name: 'Ada' }],
    [{ roles: [] }, { groups: [] }, {}],
  ])('%j and %j are %j', (provider, application, effective) => {
    expect(effectiveClaims(provider, application)).toEqual(effective);
  });

  it('names of prototypes are names like any other', () => {
    const effective = effectiveClaims(json('{"constructor":1}'), json('{"toString":2,"roles":["a"]}'));
    expect(JSON.stringify(tokenMembers(effective))).toBe(
      '{"roles":["a"],"claims":{"constructor":1,"toString":2}}',
    );
    expect(areSameClaims({}, effectiveClaims(json('{"hasOwnProperty":1}'), {}))).toBe(false);
  });

  it('are equal regardless of order, except within a value of the application', () => {
    expect(areSameClaims({ roles: ['a', 'b'], plan: 1 }, { plan: 1, roles: ['b', 'a'] })).toBe(true);
    expect(areSameClaims({ plan: [1, 2] }, { plan: [2, 1] })).toBe(false);
    expect(areSameClaims({ roles: ['a'] }, { roles: ['a', 'b'] })).toBe(false);
  });

  it('are compared however deep they are: a provider may send 4 KiB of brackets', () => {
    const deep = (): Claims => json(`{"plan":${'['.repeat(2040)}${']'.repeat(2040)}}`);
    expect(areSameClaims(deep(), deep())).toBe(true);
  });

  it('six are at the top level of a token, all others below `claims`', () => {
    const top = {
      roles: ['a'],
      groups: ['g'],
      entitlements: ['e'],
      name: 'n',
      email: 'm',
      preferred_username: 'p',
    };
    expect(tokenMembers(top)).toEqual(top);
    expect(tokenMembers({ ...top, plan: 'pro' })).toEqual({ ...top, claims: { plan: 'pro' } });
    expect(tokenMembers({})).toEqual({});
  });
});
