import { allowRule } from '../../platform/config/providers/allow-rule.js';
import { checkAllow, type AllowFacts } from './allow.js';

const ada: AllowFacts = {
  providerUserId: '42',
  verifiedEmail: 'Ada@Corp.Example',
  claims: { groups: ['staff', 'math'], level: 3, team: 'a,b', empty: [], blank: '', nested: { a: 1 } },
};

function verdict(rule: string, facts: Partial<AllowFacts> = {}): string {
  const result = checkAllow(allowRule.parse(rule), { ...ada, ...facts });
  return result.isAllowed ? `by ${result.by}` : result.reason;
}

describe('the setting allow', () => {
  it.each<[rule: string, facts: Partial<AllowFacts>, verdict: string]>([
    ['*', { verifiedEmail: null, claims: {} }, 'by *'],
    ['email_domain=corp.example', {}, 'by email_domain=corp.example'],
    ['email_domain=CORP.example', {}, 'by email_domain=CORP.example'],
    ['email_domain=corp.example', { verifiedEmail: null }, 'email_domain'],
    ['email_domain=corp.example', { verifiedEmail: 'ada@evil.example@corp.example' }, 'email_domain'],
    ['email_domain=corp.example', { verifiedEmail: 'ada@corp.example@evil.example' }, 'email_domain'],
    ['email_domain=corp.example', { verifiedEmail: 'ada@notcorp.example' }, 'email_domain'],
    ['email_domain=corp.example', { verifiedEmail: 'ada@eu.corp.example' }, 'email_domain'],
    [
      'email_domain=*.corp.example',
      { verifiedEmail: 'ada@eu.corp.example' },
      'by email_domain=*.corp.example',
    ],
    ['email_domain=*.corp.example', {}, 'email_domain'],
    ['email_domain=*.corp.example', { verifiedEmail: 'ada@evilcorp.example' }, 'email_domain'],
    ['email=ada@corp.example', {}, 'by email=ada@corp.example'],
    ['email=bob@corp.example', {}, 'email'],
    ['user_id=42', {}, 'by user_id=42'],
    ['user_id=4%32', {}, 'by user_id=4%32'],
    ['user_id=43', {}, 'user_id'],
    ['claim:groups=staff', {}, 'by claim:groups=staff'],
    ['claim:groups=Staff', {}, 'claim'],
    ['claim:level=3', {}, 'by claim:level=3'],
    ['claim:team=a%2Cb', {}, 'by claim:team=a%2Cb'],
    ['claim:team', {}, 'by claim:team'],
    ['claim:empty', {}, 'claim'],
    ['claim:blank', {}, 'claim'],
    ['claim:off', { claims: { off: false } }, 'claim'],
    ['claim:off=false', { claims: { off: false } }, 'by claim:off=false'],
    ['claim:none', { claims: { none: {} } }, 'claim'],
    ['claim:none', { claims: { none: [[], { a: '' }] } }, 'claim'],
    ['claim:nested', {}, 'by claim:nested'],
    ['claim:zero', { claims: { zero: 0 } }, 'by claim:zero'],
    ['claim:nested=[object Object]', {}, 'claim'],
    ['claim:toString', {}, 'claim'],
    ['email_domain=other.example&claim:groups=staff, user_id=42', {}, 'by user_id=42'],
    ['email_domain=corp.example & claim:groups=boss', {}, 'claim'],
    ['email_domain=corp.example&claim:groups=staff', {}, 'by email_domain=corp.example&claim:groups=staff'],
    ['email_domain=corp.example', { hostedDomain: null }, 'email_domain'],
    ['email_domain=corp.example', { hostedDomain: 'corp.example' }, 'by email_domain=corp.example'],
    ['email_domain=corp.example', { hostedDomain: 'other.example' }, 'email_domain'],
    ['email=ada@corp.example', { hostedDomain: null }, 'email'],
    [
      'email_domain=gmail.com',
      { hostedDomain: null, verifiedEmail: 'a@gmail.com' },
      'by email_domain=gmail.com',
    ],
  ])('%s for %j: %s', (rule, facts, expected) => {
    expect(verdict(rule, facts)).toBe(expected);
  });

  it.each([
    '',
    ',',
    'user_id=1,',
    '&',
    'everyone',
    'email_domain',
    'email_domain=',
    'email_domain=@corp.example',
    'email_domain=*',
    'email_domain=*.',
    'email_domain=a..b',
    'email=corp.example',
    'email=a@b@c',
    'claim:',
    'claim:sub=1',
    'claim:__proto__=1',
    'claim=staff',
    'user_id',
    'user_id=%',
    'domain=corp.example',
    'email-domain=corp.example',
    Array.from({ length: 201 }, () => '*').join(),
  ])('refuses %j', (rule) => {
    expect(() => allowRule.parse(rule)).toThrow();
  });
});
