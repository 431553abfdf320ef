import { claimAt, identityOf } from './claims.js';

const claims = {
  sub: 'u-1',
  name: '',
  login: 'ada',
  id: 42,
  big: 2 ** 53,
  admin: true,
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
});
