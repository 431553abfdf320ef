import { parseSettings } from '../platform/config/settings/parse-settings.js';
import {
  allowsRedirectUri,
  defaultRedirectUri,
  providerCallback,
  redirectUrisToRegister,
} from './redirect-uris.js';
import { isRedirectUri } from '../platform/config/urls/urls.js';

const noList = {};

// Every kind of text that attackers put in a redirect URI: no list may have it, and it is refused without
// one.
const HOSTILE: readonly (readonly [why: string, uri: string])[] = [
  ['script', 'javascript:alert(1)'],
  ['data', 'data:text/html,<script>alert(1)</script>'],
  ['file', 'file:///etc/passwd'],
  ['a scheme without a dot', 'myapp://callback'],
  ['scheme-relative', '//app.example/cb'],
  ['relative', '/cb'],
  ['empty', ''],
  ['one slash', 'https:/app.example/cb'],
  ['no host', 'https://'],
  ['user info', 'https://user:pass@app.example/cb'],
  ['user info of a private scheme', 'com.example.app://user@host/cb'],
  ['fragment', 'https://app.example/cb#x'],
  ['backslash', 'https://app.example\\@evil.example/cb'],
  ['CR LF', 'https://app.example/cb\r\nSet-Cookie: a=b'],
  ['blank behind', 'https://app.example/cb '],
  ['NUL', 'https://app.example/cb\0'],
  ['look-alike letter', 'https://\u0430pp.example/cb'],
  ['angle brackets', 'https://app.example/<script>'],
  ['port out of range', 'https://app.example:99999/cb'],
];

const OTHERS: readonly (readonly [why: string, uri: string])[] = [
  ['another host', 'https://evil.example/cb'],
  ['host with a suffix', 'https://app.example.evil.example/cb'],
  ['host with a final dot', 'https://app.example./cb'],
  ['another scheme', 'http://app.example/cb'],
  ['the default port', 'https://app.example:443/cb'],
  ['another port', 'https://app.example:444/cb'],
  ['trailing slash', 'https://app.example/cb/'],
  ['query', 'https://app.example/cb?next=1'],
  ['dot segments', 'https://app.example/x/../cb'],
  ['encoded path', 'https://app.example/%63b'],
];

describe('entries of an allow-list', () => {
  it.each([
    'https://app.example/cb',
    'http://app.example',
    'https://app.example:8443/cb?a=b&c=%20',
    'http://127.0.0.1/cb',
    'http://[::1]:1234/cb',
    'com.example.app:/callback',
    'com.example.app://host/callback',
  ])('accepts %s', (uri) => expect(isRedirectUri(uri)).toBe(true));

  it.each(HOSTILE)('refuses: %s', (_, uri) => expect(isRedirectUri(uri)).toBe(false));
});

describe('with a list', () => {
  const settings = parseSettings({
    REDIRECT_URIS: 'https://app.example/cb, com.example.app:/callback',
  });
  const allows = (uri: string): boolean => allowsRedirectUri(settings, noList, uri);

  it('allows exactly what is on it', () => {
    expect(allows('https://app.example/cb')).toBe(true);
    expect(allows('com.example.app:/callback')).toBe(true);
  });
  it.each(OTHERS)('refuses: %s', (_, uri) => expect(allows(uri)).toBe(false));
  it('is overridden by the list of the provider', () => {
    const own = { redirectUris: ['https://own.example/cb'] };
    expect(allowsRedirectUri(settings, own, 'https://own.example/cb')).toBe(true);
    expect(allowsRedirectUri(settings, own, 'https://app.example/cb')).toBe(false);
  });
});

describe('loopback entries (RFC 8252 §7.3)', () => {
  const REDIRECT_URIS =
    'http://127.0.0.1/cb,http://[::1]:80/cb,http://localhost:3000/cb?a=b,http://localhost';
  const settings = parseSettings({ REDIRECT_URIS });
  const allows = (uri: string): boolean => allowsRedirectUri(settings, noList, uri);

  it.each([
    'http://127.0.0.1:49152/cb',
    'http://127.0.0.1/cb',
    'http://[::1]:5000/cb',
    'http://localhost:1/cb?a=b',
    'http://localhost:9',
  ])('match any port: %s', (uri) => expect(allows(uri)).toBe(true));

  it.each([
    'https://127.0.0.1/cb',
    'http://127.0.0.1:1234/cb/',
    'http://127.0.0.1:1234@evil.example/cb',
    'http://127.0.0.1:1234.evil.example/cb',
    'http://localhost:1234@evil',
    'http://localhost.evil.example',
    'http://localhost:',
    'http://localhost:123456',
    'http://localhost:1/',
    'http://[::1]evil/cb',
    'http://127.1/cb',
  ])('match nothing else: %s', (uri) => expect(allows(uri)).toBe(false));
});

it('a loopback address inside of an entry has its own port and no other', () => {
  const listed = { redirectUris: ['https://app.example/?next=http://localhost:1/cb'] };
  const settings = parseSettings({});
  expect(allowsRedirectUri(settings, listed, listed.redirectUris[0]!)).toBe(true);
  expect(allowsRedirectUri(settings, listed, 'https://app.example/?next=http://localhost:2/cb')).toBe(false);
});

it('each provider has its own callback in the sign-in for stock clients', () => {
  expect(providerCallback({ publicUrl: 'https://id.example' }, 'acme')).toBe(
    'https://id.example/providers/acme/callback',
  );
});

describe('without a list', () => {
  const settings = parseSettings({});

  it.each(['https://any.example/x?y=z', 'http://any.example', 'http://localhost:8080/cb'])(
    'allows %s',
    (uri) => expect(allowsRedirectUri(settings, noList, uri)).toBe(true),
  );
  it.each([...HOSTILE, ['a private scheme', 'com.example.app:/callback'] as const])('refuses: %s', (_, uri) =>
    expect(allowsRedirectUri(settings, noList, uri)).toBe(false),
  );
});

describe("a callback of the service's own pages", () => {
  const callback = 'https://id.example/page/callback';
  const off = parseSettings({ REDIRECT_URIS: 'https://app.example/cb', PUBLIC_URL: 'https://id.example' });
  const on = { ...off, ownRedirectUris: [{ uri: callback, isRegistered: true }] };

  it('is allowed in addition to any list', () => {
    expect(allowsRedirectUri(on, noList, callback)).toBe(true);
    expect(allowsRedirectUri(on, { redirectUris: ['https://own.example/cb'] }, callback)).toBe(true);
    expect(allowsRedirectUri(on, noList, `${callback}x`)).toBe(false);
    expect(allowsRedirectUri(on, noList, 'https://id.example/callback')).toBe(false);
    expect(allowsRedirectUri(off, noList, callback)).toBe(false);
  });

  it('is allowed at both spellings of this machine, of which the other is a second device', () => {
    const settings = parseSettings({ REDIRECT_URIS: 'https://app.example/cb', PORT: '4000' });
    const own = { uri: 'http://localhost:4000/callback', isRegistered: false };
    const here = { ...settings, ownRedirectUris: [own] };
    for (const host of ['localhost', '127.0.0.1'])
      expect(allowsRedirectUri(here, noList, `http://${host}:4000/callback`)).toBe(true);
    for (const other of [
      '127.0.0.1:4001',
      '127.0.0.1.example:4000',
      '127.0.0.12:4000',
      'user@127.0.0.1:4000',
    ])
      expect(allowsRedirectUri(here, noList, `http://${other}/callback`)).toBe(false);
    expect(allowsRedirectUri(on, noList, 'https://127.0.0.1/page/callback')).toBe(false);
  });

  it('is registered at a provider if it says so, unless the provider posts the code to the service', () => {
    const [corp, apple] = [{}, { response_mode: 'form_post' }].map((options) => ({ name: 'corp', options }));
    const own = 'https://id.example/providers/corp/callback';
    expect(redirectUrisToRegister(on, corp!)).toEqual(['https://app.example/cb', callback, own]);
    const silent = { ...on, ownRedirectUris: [{ uri: callback, isRegistered: false }] };
    for (const one of [off, silent])
      expect(redirectUrisToRegister(one, corp!)).toEqual(['https://app.example/cb', own]);
    expect(redirectUrisToRegister(on, apple!)).toEqual([own]);
  });

  it('is registered without the redirect URIs of command lines, which providers do not see', () => {
    const list = 'https://app.example/cb,http://127.0.0.1/cb,http://[::1]/cb,http://localhost:5173/cb';
    const settings = parseSettings({ PUBLIC_URL: 'https://id.example', REDIRECT_URIS: list });
    const uris = redirectUrisToRegister(settings, { name: 'corp', options: {} });
    const own = 'https://id.example/providers/corp/callback';
    expect(uris).toEqual(['https://app.example/cb', 'http://localhost:5173/cb', own]);
  });
});

it('takes the first entry of the list that applies, when the client names none', () => {
  const listed = parseSettings({ REDIRECT_URIS: 'https://a.example/cb,https://b.example/cb' });
  const own = { redirectUris: ['https://own.example/cb'] };
  expect(defaultRedirectUri(listed, own)).toBe('https://own.example/cb');
  expect(defaultRedirectUri(listed, noList)).toBe('https://a.example/cb');
  const withPage = { ...listed, ownRedirectUris: [{ uri: 'https://c.example/cb', isRegistered: false }] };
  expect(defaultRedirectUri(withPage, noList)).toBe('https://a.example/cb');
  expect(defaultRedirectUri(parseSettings({ PORT: '4000' }), noList)).toBe('http://localhost:4000/callback');
});
