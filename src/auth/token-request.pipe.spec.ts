import { ClientTokenDto } from './clients/client-token.dto.js';
import { TokenRequestPipe } from './grant.js';
import { RefreshDto, TokenDto } from './token.dto.js';

describe('the body of POST /oauth2/token', () => {
  it.each<[string, object, new () => object]>([
    ['a provider’s code', { code: 'c', state: '5e'.repeat(32) }, TokenDto],
    [
      'a code of ours',
      { code: 'lkc_x', redirect_uri: 'https://app.example/cb', code_verifier: 'v'.repeat(43) },
      ClientTokenDto,
    ],
    ['a refresh token', { refresh_token: 'r' }, RefreshDto],
  ])('is read as what it asks for: %s', (_what, parameters, kind) => {
    const grant_type = kind === RefreshDto ? 'refresh_token' : 'authorization_code';
    const read = new TokenRequestPipe().transform({ ...parameters, grant_type });
    expect(read).toBeInstanceOf(kind);
    expect(read).toMatchObject(parameters);
  });
});
