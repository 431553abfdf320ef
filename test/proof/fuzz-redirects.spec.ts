import { isRedirectUri } from '../../src/config/url-kinds.js';
import { parseSettings } from '../../src/config/parse-settings.js';
import { addressOf } from '../../src/auth/clients/answer-address.js';
import { isOwnEndpoint } from '../../src/auth/own-endpoint.js';
import { allowsRedirectUri } from '../../src/provider/redirect-uris.js';
import { fuzz, type Verdict } from './fuzz/fuzz.js';
import { mutatedText } from './fuzz/mutate.js';
import type { Random } from './fuzz/random.js';
import { leadsToOwnEndpoint, listAllows, partsOf } from './fuzz/redirect-reference.js';

const LIST = [
  'https://app.example/cb',
  'https://app.example:8443/cb?a=b&c=%20',
  'http://xn--bcher-kva.example/x;y=(1)/cb',
  'https://192.0.2.7/cb',
  'https://[2001:db8::1]:8443/cb',
  'http://127.0.0.1/cb',
  'http://[::1]:80/cb?x=1',
  'http://localhost:3000/cb?a=b',
  'http://localhost',
  'https://localhost/?',
  'com.example.app:/callback',
  'com.example.app://host/callback',
];
const SCHEMES = [
  'http',
  'https',
  'HTTP',
  'hTTps',
  'ftp',
  'ws',
  'javascript',
  'data',
  'file',
  'blob',
  'view-source',
  'intent',
  'com.example.app',
  'com.example.',
  '',
];
const HOSTS = [
  'app.example',
  'APP.example',
  'app.example.',
  'app.example.evil.test',
  'evil.test',
  'app。example',
  'app%2eexample',
  'аpp.example',
  '127.0.0.1',
  '127.1',
  '0x7f.1',
  '0177.0.0.1',
  '2130706433',
  '127.0.0.1.',
  '１２７.0.0.1',
  '127.0.0.01',
  '0',
  '0.0.0.0',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'lócalhost',
  'app.localhost',
  'local­host',
  'localhosſ',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::1%25eth0]',
  '[::1',
  '[2001:db8::1]',
  '[2001:DB8::1]',
  '',
  '*',
  '.',
  'a b',
];
const PORTS = [
  '',
  ':',
  ':80',
  ':443',
  ':3000',
  ':0',
  ':8443',
  ':65535',
  ':65536',
  ':99999',
  ':000080',
  ':3000:3000',
  ':-1',
  ':8e1',
  ':٣',
  ':80@evil.test',
];
const PATHS = [
  '',
  '/',
  '/cb',
  '/cb/',
  '/CB',
  '/%63b',
  '/x/../cb',
  '//cb',
  '/cb;x',
  '/cb%00',
  '/cb%0d%0aSet-Cookie:a=b',
  '\\cb',
  '/\\evil.test',
  '/.',
  '/cb/.',
  '/oauth2/token',
  '/%6fauth2/token',
  '/OAUTH2/token',
  '//oauth2/token',
  '/x/..//providers/mock/callback',
  '/providers%2fmock%2fcallback',
  '/x%2f..%2foauth2%2ftoken',
  '/%2e%2e/oauth2/token',
  '/x%5c..%5coauth2/token',
  '/%ff/%2e%2e/oauth2/x',
  '/%6fauth2/%ff',
  '/oauth2/x%2f..%2f..',
  '/%6fauth2/x/.%09./..%2f',
  '/callback',
  '/x;y=(1)/cb',
];
const QUERIES = ['', '?', '?a=b', '?a=b&c=%20', '?x=1', '?code=1&state=2', '??', '?a=b?c', '?a#'];
const FRAGMENTS = ['', '', '', '', '#', '#x', '#@evil.test'];
const USERS = [
  '',
  '',
  '',
  '',
  '@',
  'app.example@',
  'a:b@',
  ':@',
  '%40',
  'localhost:3000@',
  '\\@',
  'app.example\t@',
];
const WORDS = [
  ...SCHEMES,
  ...HOSTS,
  ...PORTS,
  ...PATHS,
  ...QUERIES,
  ...USERS,
  '://',
  ':',
  '//',
  '///',
  'https:',
  '\r\n',
];

/** An entry of the list, or a URI made of parts that look alike; changed, mostly. */
function redirectUri(random: Random): string {
  const [listed, parts] = [random.pick(LIST), partsOf(random.pick(LIST))];
  if (parts && random.chance(0.3)) {
    const { scheme, host, rest } = parts;
    const port = random.pick([...PORTS, `:${random.below(70_000)}`]);
    return `${scheme}://${random.pick(USERS)}${random.chance(0.2) ? random.pick(HOSTS) : host}${port}${random.chance(0.2) ? random.pick(PATHS) : rest}`;
  }
  const made = random.chance(0.5)
    ? listed
    : `${random.pick(SCHEMES)}${random.pick(['://', '://', '://', ':', ':/', ':///', ':\\\\', '://\t'])}${random.pick(USERS)}${random.pick(HOSTS)}${random.pick(PORTS)}${random.pick(PATHS)}${random.pick(QUERIES)}${random.pick(FRAGMENTS)}`;
  return random.chance(0.15) ? made : mutatedText(random, made, WORDS);
}

/** How a browser would go there must be what is written: the same scheme and host, nobody's name, no fragment. */
function mustNavigateAsWritten(uri: string): void {
  const { protocol, hostname, username, password, hash } = new URL(uri);
  const written = partsOf(uri);
  if (!isPlainAscii(uri)) throw new Error('it has characters that URLs do not have');
  if (username !== '' || password !== '' || hash !== '' || uri.includes('#'))
    throw new Error('it has user info, or a fragment');
  if (protocol !== `${uri.slice(0, uri.indexOf(':')).toLowerCase()}:`)
    throw new Error('a browser reads another scheme');
  if (/^https?:$/.test(protocol) && written === undefined)
    throw new Error('a browser finds an authority where none is written');
  // Names alone: an address may be written in many ways, and a browser has one.
  if (
    written &&
    /^[a-z\d.-]*[a-z-][a-z\d-]*\.?$/i.test(written.host) &&
    !/0x[\da-f]*\.?$/i.test(written.host) &&
    hostname !== written.host.toLowerCase()
  ) {
    if (/^https?:$/.test(protocol)) throw new Error(`a browser goes to ${hostname}`);
  }
}

const isPlainAscii = (text: string): boolean => /^[!-~]+$/.test(text) && !/["<>\\^`{|}]/.test(text);

const settings = parseSettings({ REDIRECT_URIS: LIST.join(','), DEMO_ENABLED: 'false', PORT: '3000' });
const open = parseSettings({ DEMO_ENABLED: 'false' });
/** All names of this machine; a port that is left out is the scheme's own. */
const OWN = ['localhost', '127.0.0.1', '[::1]', '[::ffff:7f00:1]', '0.0.0.0', '[::]'].map(
  (host) => `${host}:3000`,
);

it('a redirect URI is allowed as a reference of RFC 3986 and RFC 8252 says, and a browser goes where the list says', async () => {
  await fuzz({
    name: 'redirect URIs with a list, against the reference',
    short: 8000,
    full: 3_000_000,
    generate: redirectUri,
    judge(uri): Verdict {
      const allowed = allowsRedirectUri(settings, {}, uri);
      if (allowed !== listAllows(LIST, uri))
        throw new Error(`${allowed ? 'allowed' : 'refused'}, against the reference`);
      if (!allowed) return 'refused';
      mustNavigateAsWritten(uri);
      const { protocol, hostname } = new URL(uri);
      const hosts = LIST.map((entry) => new URL(entry)).filter((entry) => entry.protocol === protocol);
      if (!hosts.some((entry) => entry.hostname === hostname))
        throw new Error(`a browser goes to ${hostname}`);
      return 'accepted';
    },
  });
});

it('without a list, and as an entry of one, no text passes that a browser reads in another way', async () => {
  await fuzz({
    name: 'redirect URIs without a list, and entries of lists',
    short: 8000,
    full: 3_000_000,
    generate: redirectUri,
    judge(uri): Verdict {
      const [allowed, listed] = [allowsRedirectUri(open, {}, uri), isRedirectUri(uri)];
      if (allowed && !listed) throw new Error('allowed, and not to be listed');
      if (allowed && !/^https?:/i.test(uri)) throw new Error('another scheme than http(s)');
      if (listed && /^(?:javascript|data|file|blob|view-source|vbscript|about):/i.test(uri))
        throw new Error('a scheme that runs');
      if (listed) mustNavigateAsWritten(uri);
      return listed ? 'accepted' : 'refused';
    },
  });
});

it('no redirect URI leads to an endpoint of the service, and the answer goes where the URI goes', async () => {
  await fuzz({
    name: 'redirect URIs to endpoints of the service, and answers behind redirect URIs',
    short: 8000,
    full: 1_500_000,
    generate: (random) =>
      redirectUri(random).replace(/^([^:]+:\/\/)[^/?]*/, (all, scheme: string) =>
        random.chance(0.5) ? `${scheme}${random.pick(HOSTS)}:3000` : all,
      ),
    judge(uri): Verdict {
      if (!allowsRedirectUri(open, {}, uri)) return 'refused';
      if (isOwnEndpoint(open, uri)) return 'refused';
      if (leadsToOwnEndpoint(OWN, uri)) throw new Error('it leads to an endpoint of the service');
      const answer = { code: 'lkc_+/=', state: 'a b&c=d#?%\u{1f600}' };
      const [before, after] = [
        new URL(uri),
        new URL(
          addressOf({ redirectUri: uri, state: answer.state }, 'https://id.example', { code: answer.code }),
        ),
      ];
      if (after.origin !== before.origin || after.pathname !== before.pathname || after.hash !== '')
        throw new Error('the answer goes elsewhere');
      for (const [name, value] of Object.entries(answer))
        if (after.searchParams.getAll(name).at(-1) !== value) throw new Error(`${name} is lost`);
      return 'accepted';
    },
  });
});
