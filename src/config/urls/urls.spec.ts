import { endpointUrl, isLoopbackUrl, isThisMachine, parseUrl } from './urls.js';

/** Everything that the URL parser reads as a loopback address, and the one name that needs no network. */
const LOOPBACK = [
  'http://127.0.0.1:4000/path',
  'https://127.255.255.254',
  'http://127.1',
  'http://2130706433',
  'http://\uff11\uff12\uff17.1',
  'http://[::ffff:127.0.0.2]',
  'http://localhost',
  'http://LOCALHOST:4000',
];
/** Also this machine, but its name may be looked up in the network, or it is not a loopback address. */
const NEAR = [
  'http://localhost.',
  'http://app.localhost:5173',
  'http://0.0.0.0:4000',
  'http://[::]',
  'http://[::ffff:0.0.0.0]',
];
const ELSEWHERE = [
  'http://128.0.0.1',
  'http://127.0.0.1.evil.example',
  'http://localhost.evil.example',
  'http://evillocalhost.',
  'http://localhost..',
  'http://[::127.0.0.1]',
  'http://[64:ff9b::127.0.0.1]',
  'http://evil.example/127.0.0.1',
  'http://127.0.0.1@evil.example',
];

it.each(LOOPBACK)('%s is loopback', (url) =>
  expect([isLoopbackUrl(url), isThisMachine(url)]).toEqual([true, true]),
);
it.each(NEAR)('%s is this machine, and needs TLS all the same', (url) =>
  expect([isLoopbackUrl(url), isThisMachine(url)]).toEqual([false, true]),
);
it.each(ELSEWHERE)('%s is neither', (url) =>
  expect([isLoopbackUrl(url), isThisMachine(url)]).toEqual([false, false]),
);

describe('a URL of a request', () => {
  it.each([
    ['https://x.example/a b', 'https://x.example/a%20b'],
    ['https://exämple.org/', 'https://xn--exmple-cua.org/'],
    ['https://', undefined],
    ['', undefined],
  ])('%j', (text, href) => {
    expect(parseUrl(text)?.href).toBe(href);
  });

  // Node 22: `URL.canParse` refuses such hosts after some thousand calls.
  it.each(['https://exämple.org', 'http://iéd.example'])('%s is accepted after many others', (url) => {
    for (let i = 0; i < 20_000; i++) endpointUrl.parse('https://x.example/');
    expect(endpointUrl.parse(url)).toBe(url);
    expect(parseUrl(url)).toBeDefined();
  });
});
