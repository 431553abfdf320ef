import { parseUrl } from './parse-url.js';
import { endpointUrl } from './url-kinds.js';

describe('a URL of a request', () => {
  it.each([
    ['https://x.example/a b', 'https://x.example/a%20b'],
    ['https://exämple.org/', 'https://xn--exmple-cua.org/'],
    ['https://', undefined],
    ['', undefined],
  ])('%j', (text, href) => {
    expect(parseUrl(text)?.href).toBe(href);
  });

  it('is one still after many others', () => {
    for (let i = 0; i < 20_000; i++) parseUrl('https://x.example/');
    expect(parseUrl('https://exämple.org/')?.hostname).toBe('xn--exmple-cua.org');
  });
  // fuzz-settings.spec.ts
  it('in a setting is one still after many others', () => {
    const url = 'http://iéd.example';
    for (let i = 0; i < 20_000; i++) endpointUrl.parse('https://x.example/');
    expect(endpointUrl.parse(url)).toBe(url);
  });
});
