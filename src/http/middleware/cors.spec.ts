import { parseSettings } from '../../config/settings/parse-settings.js';
import { allowsOrigin } from './cors.js';
import { isOrigin } from '../../config/urls/urls.js';

const PUBLIC_URL = 'https://id.example';

describe('without a list', () => {
  const development = parseSettings({ PUBLIC_URL });

  it.each([
    'http://localhost',
    'http://localhost:5173',
    'https://127.0.0.1:8443',
    'http://[::1]:1',
    'http://127.0.0.2:5173',
    'http://app.localhost:5173',
  ])('allows %s, but not in production', (origin) => {
    expect(allowsOrigin(development, origin)).toBe(true);
    expect(allowsOrigin({ ...development, production: true }, origin)).toBe(false);
  });
  it.each([
    'https://app.example',
    'null',
    '',
    'http://localhost.evil.example',
    'http://127.1',
    'http://localhost:5173.evil.example',
    'http://localhost@evil.example',
    'http://127.0.0.1.evil.example',
    'http://evil.example/http://localhost',
    'ftp://localhost',
    'http://localhost:5173/',
    'http://localhost:5173\n',
  ])('refuses %j', (origin) => expect(allowsOrigin(development, origin)).toBe(false));

  it('refuses what is no URL, also after thousands of others', () => {
    for (let i = 0; i < 20_000; i++) allowsOrigin(development, 'http://localhost:5173');
    // As headers are read: UTF-8 of a letter. Node 20: `URL.canParse` thought of it that it is a host's.
    expect(allowsOrigin(development, 'http://\u00ef\u00bd\u008c')).toBe(false);
  });
});

describe('with a list', () => {
  const settings = parseSettings({ PUBLIC_URL, CORS_ORIGINS: 'https://app.example, capacitor://localhost' });

  it('allows what is on it, and the own origin', () => {
    expect(allowsOrigin(settings, 'https://app.example')).toBe(true);
    expect(allowsOrigin(settings, 'capacitor://localhost')).toBe(true);
    expect(allowsOrigin(settings, 'https://id.example')).toBe(true);
  });
  it.each([
    'http://app.example',
    'https://app.example:444',
    'https://APP.example',
    'https://app.example.evil.example',
    'https://evilapp.example',
    'https://id.example/base',
    'http://localhost:3000',
    'null',
  ])('refuses %s', (origin) => expect(allowsOrigin(settings, origin)).toBe(false));
});

it.each([
  '*',
  'null',
  'app.example',
  'https://*.app.example',
  'https://app.example/',
  'https://app.example/x',
  'https://app.example:443',
  'https://App.example',
  'https://user@app.example',
  'https://app.example?x',
  'https://app.example#x',
  'https://',
])('no entry of a list: %s', (text) => expect(isOrigin(text)).toBe(false));
