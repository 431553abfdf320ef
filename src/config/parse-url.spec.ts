import { parseUrl } from './parse-url.js';

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
});
