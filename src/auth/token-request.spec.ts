import { chooseGrant, chooseLimit } from './auth.controller.js';
import { ClientTokenDto, RefreshDto, TokenDto } from './token.dto.js';

const OWN_STATE = '5e'.repeat(32);
const OWN_CODE = 'lkc_abc';

describe('which grant a request to POST /oauth2/token is', () => {
  it.each<[string, unknown, object]>([
    ['code and state', { code: 'c', state: 's' }, TokenDto],
    ['… whatever grant_type says', { code: 'c', state: 's', grant_type: 'refresh_token' }, TokenDto],
    ['a code of ours with a state of ours: a provider’s', { code: OWN_CODE, state: OWN_STATE }, TokenDto],
    ['a code of ours with a state that is no text', { code: OWN_CODE, state: ['x'] }, TokenDto],
    ['a code of ours', { code: OWN_CODE, grant_type: 'authorization_code' }, ClientTokenDto],
    ['… with the client’s own state', { code: OWN_CODE, state: 'mine' }, ClientTokenDto],
    ['… behind which another state begins', { code: OWN_CODE, state: `0${OWN_STATE}` }, ClientTokenDto],
    ['a code that only contains our prefix', { code: 'xlkc_abc', state: 'mine' }, TokenDto],
    ['codes that are no text', { code: [OWN_CODE], grant_type: 'authorization_code' }, TokenDto],
    ['no body', undefined, TokenDto],
    ['a refresh', { grant_type: 'refresh_token' }, RefreshDto],
    ['a refresh with a code alone', { grant_type: 'refresh_token', code: 'c', state: '' }, RefreshDto],
    ['a refresh with a code of ours', { grant_type: 'refresh_token', code: OWN_CODE }, RefreshDto],
  ])('%s', (_name, body, grant) => {
    expect(chooseGrant(body)).toBe(grant);
    const limit = grant === RefreshDto ? 'refresh' : 'token';
    expect(chooseLimit(body)).toBe(limit);
  });

  it.each<[unknown, string]>([
    ['password', 'unsupported_grant_type: grant_type must be authorization_code or refresh_token'],
    [['refresh_token', 'refresh_token'], 'invalid_request: grant_type must be given once'],
    [7, 'invalid_request: grant_type must be given once'],
  ])('refuses %j', (grantType, message) => {
    const body = { grant_type: grantType };
    expect(() => chooseGrant(body)).toThrow(
      expect.objectContaining({ message, name: 'OAuthError' }) as Error,
    );
    expect(chooseLimit(body)).toBe('token');
  });
});
