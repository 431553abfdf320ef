import { grantOf, limitOf } from './token.dto.js';

const OWN_STATE = '5e'.repeat(32);
const OWN_CODE = 'lkc_abc';

describe('what POST /oauth2/token is asked to do', () => {
  it.each<[string, unknown, string]>([
    ['code and state', { code: 'c', state: 's' }, 'authorization_code'],
    [
      '… whatever grant_type says',
      { code: 'c', state: 's', grant_type: 'refresh_token' },
      'authorization_code',
    ],
    [
      'a code of ours with a state of ours: a provider’s',
      { code: OWN_CODE, state: OWN_STATE },
      'authorization_code',
    ],
    ['a code of ours with a state that is no text', { code: OWN_CODE, state: ['x'] }, 'authorization_code'],
    ['a code of ours', { code: OWN_CODE, grant_type: 'authorization_code' }, 'own_code'],
    ['… with the client’s own state', { code: OWN_CODE, state: 'mine' }, 'own_code'],
    ['… behind which another state begins', { code: OWN_CODE, state: `0${OWN_STATE}` }, 'own_code'],
    ['a code that only contains our prefix', { code: 'xlkc_abc', state: 'mine' }, 'authorization_code'],
    ['codes that are no text', { code: [OWN_CODE], grant_type: 'authorization_code' }, 'authorization_code'],
    ['no body', undefined, 'authorization_code'],
    ['a refresh', { grant_type: 'refresh_token' }, 'refresh_token'],
    ['a refresh with a code alone', { grant_type: 'refresh_token', code: 'c', state: '' }, 'refresh_token'],
    ['a refresh with a code of ours', { grant_type: 'refresh_token', code: OWN_CODE }, 'refresh_token'],
  ])('%s', (_name, body, grant) => {
    expect(grantOf(body)).toBe(grant);
    const limit = grant === 'refresh_token' ? 'refresh' : 'token';
    expect(limitOf(body)).toBe(limit);
  });

  it.each<[unknown, string]>([
    ['password', 'unsupported_grant_type: grant_type must be authorization_code or refresh_token'],
    [['refresh_token', 'refresh_token'], 'invalid_request: grant_type must be given once'],
    [7, 'invalid_request: grant_type must be given once'],
  ])('refuses %j', (grantType, message) => {
    const body = { grant_type: grantType };
    expect(() => grantOf(body)).toThrow(expect.objectContaining({ message, name: 'OAuthError' }) as Error);
    expect(limitOf(body)).toBe('token');
  });
});
