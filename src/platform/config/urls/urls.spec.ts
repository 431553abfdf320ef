import { endpointUrl, isBelowNoProxy, isLoopbackUrl, isThisMachine, parseUrl } from './urls.js';

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

// curl and Go: a name covers the names below it. axios supports the other forms.
describe('NO_PROXY', () => {
  const before = { ...process.env };
  afterEach(() => {
    for (const name of ['no_proxy', 'NO_PROXY']) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  });

  it.each<[string, string, boolean]>([
    ['corp.test', 'https://sso.corp.test/token', true],
    ['corp.test', 'https://a.b.corp.test', true],
    ['CORP.Test.', 'https://SSO.corp.test.', true],
    ['a.example, corp.test', 'http://sso.corp.test:8080', true],
    ['a.example corp.test', 'http://sso.corp.test', true],
    ['test', 'http://sso.corp.test', true],
    ['corp.test:443', 'https://sso.corp.test', true],
    ['corp.test:8443', 'https://sso.corp.test:8443', true],
    ['exämple.test', 'https://sso.xn--exmple-cua.test', true],
    ['corp.test:80', 'https://sso.corp.test', false],
    ['corp.test', 'https://notcorp.test', false],
    ['corp.test', 'https://corp.test.evil.example', false],
    ['sso.corp.test', 'https://corp.test', false],
    ['0.0.1', 'https://10.0.0.1', false],
    ['', 'https://sso.corp.test', false],
    [',, :80 .', 'https://sso.corp.test', false],
  ])('%j covers %s: %s', (list, url, expected) => {
    delete process.env['no_proxy'];
    process.env['NO_PROXY'] = list;
    expect(isBelowNoProxy(url)).toBe(expected);
  });

  it('is read in lower case first, as axios does', () => {
    Object.assign(process.env, { no_proxy: 'a.test', NO_PROXY: 'corp.test' });
    expect(isBelowNoProxy('https://sso.corp.test')).toBe(false);
  });
});
