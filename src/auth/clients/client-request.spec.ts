import { OAuthError } from '../../platform/errors/oauth-error.js';
import { buildAddress, toClientError } from './client-request.js';

const ISSUER = 'https://login.example';
const client = { redirectUri: 'https://app.example/cb', state: 'a b&c' };
const away = Object.assign(new Error('x'), { code: 'ECONNREFUSED' });

describe('where a stock client’s browser goes', () => {
  it.each<[string, { redirectUri: string; state: string | null }, string]>([
    [
      'with its state',
      client,
      'https://app.example/cb?code=1%2F2&state=a%20b%26c&iss=https%3A%2F%2Flogin.example',
    ],
    [
      'with an empty one',
      { ...client, state: '' },
      'https://app.example/cb?code=1%2F2&state=&iss=https%3A%2F%2Flogin.example',
    ],
    [
      'behind a query of its own',
      { redirectUri: 'https://app.example/cb?x=1', state: null },
      'https://app.example/cb?x=1&code=1%2F2&iss=https%3A%2F%2Flogin.example',
    ],
  ])('%s', (_name, request, address) => expect(buildAddress(request, ISSUER, { code: '1/2' })).toBe(address));
});

describe('an error that a client is told', () => {
  it.each<[string, unknown, string]>([
    [
      'a provider that is away',
      new OAuthError('server_error', 'x', { cause: away }),
      'temporarily_unavailable',
    ],
    [
      'a provider that answered wrongly',
      new OAuthError('server_error', 'x', { cause: new Error('y') }),
      'server_error',
    ],
    ['something of ours that is away', away, 'server_error'],
  ])('of %s', (_name, failure, error) => expect(toClientError(failure)).toBe(error));
});
