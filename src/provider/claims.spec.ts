import { claimAt, identityOf, isComplete } from './claims.js';

const claims = {
  sub: 'u-1',
  name: '',
  login: 'ada',
  id: 42,
  big: 2 ** 53,
  admin: true,
  nobody: null,
  user: { id: 'nested', mails: ['a@x.example', 'b@x.example'] },
  'https://app.example/id': 'named with dots',
};

describe('claimAt', () => {
  it.each([
    ['sub', 'u-1'],
    ['id', '42'],
    ['user.id', 'nested'],
    ['user.mails.1', 'b@x.example'],
    ['https://app.example/id', 'named with dots'],
    ['name,login', 'ada'],
    ['nothing, login', 'ada'],
    ['https://img.example/{user.id}/{id}.png', 'https://img.example/nested/42.png'],
    ['https://img.example/{user.mails.0}', 'https://img.example/a%40x.example'],
  ])('%s is there', (path, text) => expect(claimAt(claims, path)).toBe(text));

  it.each([
    '',
    'nothing',
    'nobody',
    'nobody.id',
    'name',
    'user',
    'user.nothing',
    'sub.length',
    'admin',
    'big',
    'constructor.name',
    '__proto__',
    'user.mails.length.x',
    'https://img.example/{sub}/{nothing}.png',
  ])('%s is not', (path) => expect(claimAt(claims, path)).toBeUndefined());
});

describe('identityOf', () => {
  it('takes the standard claims unless options say otherwise', () => {
    const standard = { sub: '1', preferred_username: 'ada', name: 'Ada', email: 'a@x.example', picture: 'p' };
    expect(identityOf(standard, {})).toEqual({
      provider_user_id: '1',
      username: 'ada',
      email: 'a@x.example',
      avatar_url: 'p',
    });
    expect(identityOf(standard, { claim_user_id: 'email', claim_username: 'name' })).toMatchObject({
      provider_user_id: 'a@x.example',
      username: 'Ada',
    });
    expect(identityOf({ sub: '1' }, {})).toEqual({ provider_user_id: '1' });
  });

  const mails = [
    { value: 'a@x.example', verified: false },
    { value: 'b@x.example', verified: true },
  ];
  it.each<[string, object, string, boolean]>([
    ['of the claim beside it', { email: 'a@x.example', email_verified: 'false' }, 'email', false],
    ['of the whole answer', { verified: false, user: { email: 'a@x.example' } }, 'user.email', false],
    ['of the object that holds it', { user: { email: 'a@x', email_verified: false } }, 'user.email', false],
    ['of the first of a list', { mails }, 'mails.0.value', false],
    ['of another of a list', { mails }, 'mails.1.value', true],
    [
      'of the whole answer, where it stands deeper',
      { work: { mail: 'w@x' }, ...mails[0] },
      'work.mail,value',
      false,
    ],
    ['of one not there', { work: { verified: false }, email: 'a@x.example' }, 'work.mail,email', true],
    ['of an object elsewhere', { email: 'a@x.example', phone: { verified: false } }, 'email', true],
    [
      'of a claim with dots',
      { 'https://x.example/mail': 'a@x', verified: false },
      'https://x.example/mail',
      false,
    ],
  ])('knows the address for unverified, by the word %s', (_name, told, path, verified) => {
    const identity = identityOf({ sub: '1', ...told }, { claim_email: path });
    expect(identity.email).toEqual(expect.stringContaining('@'));
    expect(identity.email_verified).toBe(verified ? undefined : false);
  });

  it('is complete with four fields, whatever is said of one', () => {
    const four = { provider_user_id: '1', username: 'a', email: 'a@x.example', avatar_url: 'p' };
    expect(isComplete({ ...four, email_verified: false })).toBe(true);
    const { email: _, ...three } = four;
    expect(isComplete({ ...three, email_verified: false })).toBe(false);
  });
});
