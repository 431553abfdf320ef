import { isSafe, isSafeForBrowsers, nameOf, reachable } from './addresses.js';

const INNER = 'http://idp:8080/r';
const NAME = 'https://sso.example/r';

describe('a provider with a public name and an inner address', () => {
  it.each([
    ['without the setting, url is the name', { url: NAME }, NAME],
    ['issuer is the name', { url: INNER, issuer: NAME }, NAME],
    ['the slash of an issuer does not count', { url: INNER, issuer: `${NAME}/` }, NAME],
  ])('%s', (_name, settings, expected) => expect(nameOf(settings)).toBe(expected));

  const OTHER = ['http://idp:8080', 'https://example/sso'] as const;
  it.each<[string, readonly [string, string], string, string, string]>([
    ['the public name (Keycloak)', [INNER, NAME], NAME, `${NAME}/x`, `${INNER}/x`],
    ['the inner address (oidc-provider)', [INNER, NAME], INNER, `${NAME}/x`, `${INNER}/x`],
    [
      'another path',
      [INNER, NAME],
      'https://sso.example/o',
      'https://sso.example/o/x',
      'http://idp:8080/o/x',
    ],
    ['an inner address without the path', OTHER, OTHER[0], 'https://example/sso/x', 'http://idp:8080/x'],
    ['a public name with one more path', OTHER, OTHER[1], 'https://example/sso/x', 'http://idp:8080/x'],
    ['a name that only begins alike', [INNER, NAME], `${INNER}x`, 'https://sso.example/rx/x', `${INNER}x/x`],
  ])('whose document announces %s', (_name, [url, issuer], announced, forBrowsers, forService) => {
    const service = [
      'token_endpoint',
      'userinfo_endpoint',
      'jwks_uri',
      'pushed_authorization_request_endpoint',
    ];
    const browsers = ['authorization_endpoint', 'end_session_endpoint'];
    const document = Object.fromEntries(
      [...service, ...browsers].map((name) => [name, `${announced}/x?a=1`]),
    );
    expect(reachable({ url, issuer }, { issuer, ...document })).toEqual({
      issuer,
      ...Object.fromEntries(service.map((name) => [name, `${forService}?a=1`])),
      ...Object.fromEntries(browsers.map((name) => [name, `${forBrowsers}?a=1`])),
    });
  });

  it('leaves addresses of other hosts, and the document of a provider with one address', () => {
    const metadata = { issuer: NAME, token_endpoint: 'https://api.example/token', jwks_uri: `${NAME}/keys` };
    expect(reachable({ url: INNER, issuer: NAME }, metadata)).toMatchObject({
      token_endpoint: 'https://api.example/token',
      jwks_uri: `${INNER}/keys`,
    });
    expect(reachable({ url: INNER }, metadata)).toBe(metadata);
  });

  it.each<[string, string, string, string, boolean]>([
    ['https', 'https://api.example/token', INNER, NAME, true],
    ['http on the host of an http url', 'http://idp:8080/token', INNER, NAME, true],
    ['http on another host', 'http://sso.example/token', INNER, NAME, false],
    ['http on another port', 'http://idp:80/token', INNER, NAME, false],
    ['http, although url is https', 'http://idp:8080/token', 'https://idp:8080/r', NAME, false],
    ['http at an http issuer', 'http://other/token', 'http://sso/r', 'http://sso/r', true],
    ['another scheme', 'ftp://idp:8080/token', INNER, NAME, false],
    ['no address', 'undefined', INNER, NAME, false],
  ])('secrets are sent to %s: %s (%s)', (_name, address, url, issuer, expected) =>
    expect(isSafe(address, { url }, issuer)).toBe(expected),
  );

  it.each<[string, string, boolean]>([
    ['https://sso.example/auth', NAME, true],
    ['http://idp:8080/r/auth', NAME, false],
    ['http://sso/auth', 'http://sso', true],
    ['javascript:alert(1)', 'http://sso', false],
  ])('browsers are sent to %s of %s: %s', (address, issuer, expected) =>
    expect(isSafeForBrowsers(address, issuer)).toBe(expected),
  );
});
