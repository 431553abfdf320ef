import { isOwnEndpoint } from './service-endpoint.js';

describe('endpoints of the service itself', () => {
  const own = (uri: string, publicUrl = 'https://id.example'): boolean =>
    isOwnEndpoint({ publicUrl, port: 3000 }, uri);

  it.each([
    'https://id.example/providers/mock/oauth2/authorize',
    'https://id.example/oauth2/token',
    'https://ID.example:443/oauth2/token?x=y',
    'https://id.example/x/../oauth2/token',
    'https://id.example/%6fauth2/token',
    'https://id.example/o%61uth2/token',
    'https://id.example/x/%2e%2e/%6Fauth2/',
    'https://id.example/x%2f..%2foauth2%2ftoken',
    'https://id.example/x%3f/..%2f..%2foauth2/token',
    'https://id.example/x%23/..%2f..%2foauth2/token',
    'https://id.example//oauth2/token',
    // fuzz-redirects.spec.ts: with a stray %, nothing was decoded
    'https://id.example/%6fauth2/token%2f%%2f..',
    'https://id.example/%6fauth2/%ff',
    'https://id.example/x%2f%2f..%2foauth2/token', // for readers that merge slashes first
    'https://id.example/oauth2/x%2f..%2f..', // for readers that decode nothing, as the service
    'https://id.example/providers/x%2f..%2f..%2f/callback',
    'https://id.example/%6fauth2/x/.%09./..%2f', // a tab is no reason to see a dot segment
    'https://id.example/%6fauth2/..%20',
    'https://id.example//oauth2/x%2f%2f%2f..%2f..', // and for readers that do not
    'https://id.example/OAuth2/token',
    'https://id.example/providers/x/callback',
    'https://id.example./oauth2/token',
    'http://id.example/oauth2/token',
    'http://localhost:3000/oauth2/token', // the port it listens on
    'http://127.0.0.2:3000/providers/mock/oauth2/authorize',
  ])('%s', (uri) => expect(own(uri)).toBe(true));

  it.each(['http://127.0.0.1:3000', 'http://[::1]:3000', 'http://localhost:3000', 'https://127.0.0.2:3000'])(
    'also by another name of this machine: %s',
    (origin) => {
      expect(own(`${origin}/oauth2/token`, 'http://localhost:3000')).toBe(true);
      expect(own(`${origin.replace('3000', '5173')}/oauth2/token`, 'http://localhost:3000')).toBe(false);
    },
  );

  it.each([
    'https://id.example/callback',
    'https://id.example/oauth2x',
    'https://id.example/oauth2',
    'https://id.example/app/oauth2/callback',
    'https://id.example/?x=/oauth2/',
    'https://id.example/%ff/oauth2/',
    'https://app.example/oauth2/callback',
    'https://id.example:8443/oauth2/callback',
    'com.example.app:/oauth2/callback',
  ])('not %s', (uri) => expect(own(uri)).toBe(false));
});
