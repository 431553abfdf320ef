import { parseSettings } from '../../config/settings/parse-settings.js';
import { isOrigin } from '../../config/urls/urls.js';
import { allowsOrigin } from './cors.js';

const PUBLIC_URL = 'https://id.example';

describe('without a list', () => {
  const development = parseSettings({ PUBLIC_URL });

  it.each(['http://localhost:5173', 'https://127.0.0.2:8443', 'http://[::1]:1', 'http://app.localhost:5173'])(
    'allows %s, but not in production',
    (origin) => {
      expect(allowsOrigin(development, origin)).toBe(true);
      expect(allowsOrigin({ ...development, production: true }, origin)).toBe(false);
    },
  );
  it.each([
    'https://app.example',
    'null',
    '',
    'http://127.1',
    'http://localhost:5173.evil.example',
    'http://localhost@evil.example',
    'http://evil.example/http://localhost',
    'ftp://localhost',
    'http://localhost:5173/',
    'http://localhost:5173\n',
  ])('refuses %j', (origin) => expect(allowsOrigin(development, origin)).toBe(false));

  it('refuses what is no URL, also after thousands of others', () => {
    for (let i = 0; i < 20_000; i++) allowsOrigin(development, 'http://localhost:5173');
    // Node 20: the optimised `URL.canParse` accepted these bytes of UTF-8, as headers are read.
    expect(allowsOrigin(development, 'http://\u00ef\u00bd\u008c')).toBe(false);
  });
});

describe('with a list', () => {
  const settings = parseSettings({ PUBLIC_URL, CORS_ORIGINS: 'https://app.example, capacitor://localhost' });

  it.each(['https://app.example', 'capacitor://localhost', PUBLIC_URL])('allows %s', (origin) =>
    expect(allowsOrigin(settings, origin)).toBe(true),
  );
  it.each([
    'http://app.example',
    'https://app.example:444',
    'https://APP.example',
    'https://app.example.evil.example',
    'http://localhost:3000',
  ])('refuses %s', (origin) => expect(allowsOrigin(settings, origin)).toBe(false));
});

it.each([
  '*',
  'null',
  'https://*.app.example',
  'https://app.example/',
  'https://app.example:443',
  'https://',
])('is no entry of a list: %s', (text) => expect(isOrigin(text)).toBe(false));
