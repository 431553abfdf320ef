import { isClientIdUrl } from './client-id-url.js';
import { toPlainName } from './plain-name.js';

it.each<[string, boolean, boolean]>([
  ['https://claude.ai/oauth/client.json', true, true],
  ['https://[2606:4700::1]/a', true, true],
  ['https://host.example:8443/a', true, true],
  ['http://localhost:1234/a', true, false],
  ['http://127.0.0.1/a', true, false],
  ['http://host.example/a', false, false],
  ['https://host.example', false, false],
  ['https://host.example/', false, false],
  ['https://host.example/a?b', false, false],
  ['https://host.example/a?', false, false],
  ['https://host.example/a#', false, false],
  ['https://user@host.example/a', false, false],
  ['https://host.example:443/a', false, false],
  ['https://HOST.example/a', false, false],
  ['https://hüst.example/a', false, false],
  ['https://host.example/a/../b', false, false],
  ['https://host.example/ä', false, false],
  ['https:host.example/a', false, false],
  ['ftp://host.example/a', false, false],
  ['my-cli', false, false],
  [`https://host.example/${'a'.repeat(2028)}`, false, false],
])('%s: a client-ID URL outside production %s, in production %s', (text, outside, inside) => {
  expect([isClientIdUrl(text, false), isClientIdUrl(text, true)]).toEqual([outside, inside]);
});

const FAMILY = '👨‍👩‍👧';
it.each<[string, string | undefined]>([
  ['Claude', 'Claude'],
  ['  two \n lines ', 'two lines'],
  ['safe\u202egnitrats\u2066', 'safegnitrats'],
  ['a\u0000b\u200bc\ufeffd', 'abcd'],
  ['می‌خواهم', 'می‌خواهم'],
  [FAMILY.repeat(81), FAMILY.repeat(80)],
  ['\u202e \n', undefined],
])('the name %j is shown as %j', (text, shown) => expect(toPlainName(text)).toBe(shown));
