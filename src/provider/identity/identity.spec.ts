import { jest } from '@jest/globals';
import { parseIdentity } from './identity.js';

const NONE = {
  username: null,
  email: null,
  avatarUrl: null,
  subject: null,
  session: null,
  authTime: null,
  acr: null,
  amr: null,
  idToken: null,
  claims: {},
  sessionExpiry: null,
  refreshToken: null,
  proof: { isEmailVerified: false, hostedDomain: undefined, claims: {} },
  names: {},
  overlay: {},
  facts: {},
};

describe('parseIdentity (spec §2.5)', () => {
  it('takes all fields', () => {
    const body = {
      provider_user_id: '1',
      username: 'Ada',
      email: 'ada@x.example',
      avatar_url: 'https://x.example/a',
      subject: 'ada at x',
      session: 's',
      auth_time: 1_700_000_000.5,
      acr: 'urn:mace:silver',
      amr: ['pwd', 'otp'],
      id_token: 'x'.repeat(6144),
      session_expiry: 1_700_000_100,
      refresh_token: 'r',
      claims: { roles: 'admin' },
    };
    expect(parseIdentity(body)).toEqual({
      providerUserId: '1',
      username: 'Ada',
      email: 'ada@x.example',
      avatarUrl: 'https://x.example/a',
      subject: 'ada at x',
      session: 's',
      authTime: 1_700_000_000.5,
      acr: 'urn:mace:silver',
      amr: ['pwd', 'otp'],
      idToken: 'x'.repeat(6144),
      sessionExpiry: 1_700_000_100,
      refreshToken: 'r',
      claims: { roles: ['admin'] },
      proof: { isEmailVerified: false, hostedDomain: undefined, claims: { roles: ['admin'] } },
      names: {},
      overlay: {},
      facts: {},
    });
  });

  it.each<[string, object]>([
    ['left out', {}],
    ['null', { username: null, email: null, avatar_url: null, subject: null, session: null }],
    [
      'of a wrong type',
      { username: 1, email: {}, avatar_url: ['https://x.example'], subject: 1, session: ['s'], id_token: 1 },
    ],
    ['empty', { subject: '', session: '' }],
    [
      'over-long',
      {
        username: 'x'.repeat(256),
        email: 'x'.repeat(256),
        avatar_url: `https://x.example/${'x'.repeat(2048)}`,
        subject: 'x'.repeat(256),
        session: 'x'.repeat(256),
        id_token: 'x'.repeat(6145),
      },
    ],
    [
      'unstorable',
      {
        username: 'a\0',
        email: '\ud800',
        avatar_url: 'https://x.example/\0',
        subject: 'a\0',
        session: '\ud800',
      },
    ],
    ['a time as text', { auth_time: '1700000000' }],
    ['a time beyond the year 9999', { auth_time: 253_402_300_800 }],
    ['a time before 1970', { auth_time: -1 }],
    ['a class that no header can carry', { acr: '1"\r\n' }],
    ['a class that is empty', { acr: '' }],
    ['a class that is over-long', { acr: 'x'.repeat(256) }],
    ['a class that is a number', { acr: 2 }],
    ['methods as a text', { amr: 'pwd' }],
    ['methods of which one is none', { amr: ['pwd', 1] }],
    ['methods of which one is over-long', { amr: ['pwd', 'x'.repeat(65)] }],
    ['too many methods', { amr: Array.from({ length: 11 }, () => 'pwd') }],
    ['an avatar of another scheme', { avatar_url: 'javascript:alert(1)' }],
    ['an avatar that is not a URL', { avatar_url: 'https://' }],
    ['an avatar with https in its path only', { avatar_url: 'data://x/https://y.example' }],
  ])('optional fields that are %s are dropped', (_name, fields) => {
    expect(parseIdentity({ provider_user_id: '1', ...fields })).toEqual({ providerUserId: '1', ...NONE });
  });

  it.each<[string, object, boolean]>([
    ['email_verified false', { email_verified: false }, false],
    ['as text in capitals', { email_verified: 'False' }, false],
    ['verified false', { verified: false }, false],
    ['the one true, the other false', { email_verified: true, verified: false }, false],
    ['null', { email_verified: null, verified: null }, true],
    ['nothing', {}, true],
    ['something else', { email_verified: 'yes', verified: { by: 'false' } }, true],
  ])('an e-mail address of which is said: %s', (_name, said, expected) => {
    const email = 'ada@x.example';
    const { username, ...identity } = parseIdentity({
      provider_user_id: '1',
      username: 'Ada',
      email,
      claims: { email, plan: 'gold' },
      ...said,
    });
    expect([username, identity.email]).toEqual(['Ada', expected ? email : null]);
    // APIs read it as they read the field
    expect(identity.claims).toEqual({ plan: 'gold', ...(expected && { email }) });
  });

  it('drops a claim beyond the limits with a warning that has no value', () => {
    const warn = jest.fn();
    const claims = { roles: ['admin'], sub: 's3cret' };
    expect(parseIdentity({ provider_user_id: '1', claims }, warn).claims).toEqual({ roles: ['admin'] });
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/^dropped claims: sub \([^)]*\)$/), '1']]);
  });

  it('counts characters, not UTF-16 units', () => {
    const id = '🔑'.repeat(255);
    expect(parseIdentity({ provider_user_id: id }).providerUserId).toBe(id);
    expect(() => parseIdentity({ provider_user_id: `${id}x` })).toThrow('provider_user_id');
  });

  it.each(['http://x.example/a', 'HTTPS://x.example/a'])('the avatar may be at %s', (url) => {
    expect(parseIdentity({ provider_user_id: '1', avatar_url: url }).avatarUrl).toBe(url);
  });

  it('the avatar may be at a host with letters like ä, also after thousands of others', () => {
    const avatarOf = (url: string): string | null =>
      parseIdentity({ provider_user_id: '1', avatar_url: url }).avatarUrl;
    for (let i = 0; i < 20_000; i++) avatarOf('https://x.example/a');
    expect(avatarOf('https://exämple.org/a')).toBe('https://exämple.org/a');
  });

  it.each([[null], ['text'], [[]], [{}]])('refuses %j', (body) => {
    expect(() => parseIdentity(body)).toThrow(expect.objectContaining({ error: 'server_error' }) as Error);
  });
});

describe('the proof of an identity', () => {
  const email = 'ada@x.example';
  it.each<[string, object, boolean]>([
    ['email_verified', { email_verified: true }, true],
    ['a text', { email_verified: 'True' }, true],
    ['verified', { verified: true }, true],
    ['one of the two', { email_verified: true, verified: false }, false],
    ['a number', { email_verified: 1 }, false],
    ['nothing', {}, false],
  ])('has a verified address by %s', (_name, fields, isEmailVerified) => {
    const identity = parseIdentity({ provider_user_id: '1', email, ...fields });
    expect([identity.email !== null && identity.proof.isEmailVerified]).toEqual([isEmailVerified]);
  });

  it('has all claims, also those beyond the limits, without an address in doubt', () => {
    const groups = Array.from({ length: 500 }, (_, i) => `group number ${i}`);
    const { claims, proof } = parseIdentity({
      provider_user_id: '1',
      email,
      email_verified: false,
      claims: { groups, email },
    });
    expect((claims['groups'] as unknown[]).length).toBeLessThan(500);
    expect(proof.claims).toEqual({ groups });
  });

  it.each([
    ['corp.example', 'corp.example'],
    [null, null],
    ['x'.repeat(300), null],
    ['corp.example\0', null],
    [undefined, undefined],
  ])('of the hosted domain %j has %j', (hosted_domain, domain) => {
    expect(parseIdentity({ provider_user_id: '1', hosted_domain }).proof.hostedDomain).toBe(domain);
  });
});
