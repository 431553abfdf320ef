import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ProviderAdapter } from '../../../src/provider/provider-adapter.js';
import { adapterChecks, type Play } from '../src/adapter-test.js';
import { CODE, contains, SECRET } from '../src/sign-in.js';

const EXAMPLE = fileURLToPath(new URL('../../../examples/provider-adapter/', import.meta.url));

const SHAPE = 'authorizationUrl and exchange are functions; issuer and check are optional';
const MEMORY = 'authorizationUrl returns a URL, or { url, memory } with a small JSON object';
const BACK = 'the browser returns with state and code, and no address contains the secret';
const ACCEPTS = 'check and issuer accept these settings';
const OWN_ISSUER = 'the callback of another server is refused before the code is sent';
const SAME = 'exchange returns the identity, the same each time';
const SENT = 'exchange sends the code unchanged, and neither code nor secret in an address';
const REFUSED = 'exchange fails with invalid_grant if the provider refuses the code';
const HTML = 'exchange fails, or returns no id, if the provider answers "<html>"';
const NOTHING = 'exchange fails, or returns no id, if the provider answers ""';
const NULL = 'exchange fails, or returns no id, if the provider answers "null"';
const LARGE = 'exchange reads no more than 64 KiB';
const FAULT = 'exchange fails if the provider has an internal error';
const REDIRECT = 'exchange follows no redirect';
const SIGNAL = 'exchange ends when its signal aborts';

const play: Play = {
  userId: 'u-1',
  accepted: () => ({ body: { id: 'u-1', name: 'Ada' } }),
  refused: () => ({ status: 403, body: {} }),
};

const success = { user: 'ada', attributes: { mail: ['ada@campus.example'] } };
const cas: Play = {
  userId: 'ada',
  accepted: () => ({ body: { serviceResponse: { authenticationSuccess: success } } }),
  refused: () => ({ body: { serviceResponse: { authenticationFailure: { code: 'INVALID_TICKET' } } } }),
  codeInAddress: true,
  callback: (page, code) => `${page.searchParams.get('service')}&ticket=${code}`,
};

/** The kit `latchkey/adapter-test`, with the example adapters and with faulty copies of them. */
describe('adapter-test', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'latchkey-adapter-test-'));
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  let copies = 0;
  /** Replaces a part of an example. @returns the rules that the copy breaks */
  async function broken(example: string, testPlay: Play, from = '', to = ''): Promise<string[]> {
    const source = readFileSync(join(EXAMPLE, example), 'utf8');
    expect(source).toContain(from);
    const file = join(directory, `${copies++}.mjs`);
    writeFileSync(file, source.replace(from, to));
    const { default: adapter } = (await import(file)) as { default: ProviderAdapter };
    const rules = adapterChecks(adapter, testPlay).map(async ({ name, run }) =>
      run().then(
        () => '',
        () => name,
      ),
    );
    return (await Promise.all(rules)).filter(Boolean);
  }

  it('passes in the Node.js test runner: adapter.test.js, cas.test.js', async () => {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const args = [
      '--test',
      '--test-reporter=tap',
      ...['adapter', 'cas'].map((name) => join(EXAMPLE, `${name}.test.js`)),
    ];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    expect(stdout).toMatch(/# pass 28\n# fail 0/);
  });

  it.each<[string, string, string, string[]]>([
    ['check is not a function', '  check(', '  check: 1, checks(', [SHAPE, ACCEPTS]],
    ['the issuer is text', '  check(', "  issuer: 'https://corp.example',\n  check(", [SHAPE]],
    ['text instead of a URL', 'return url; //', 'return { url: url.href, memory: {} }; //', [MEMORY, BACK]],
    ['JSON changes the memory', 'return url; //', 'return { url, memory: { at: new Date() } }; //', [MEMORY]],
    ['no state', ', state }).toString', ' }).toString', [BACK]],
    ['the secret in the page', 'state }).toString', 'state, s: provider.clientSecret }).toString', [BACK]],
    ['valid settings are rejected', '!provider.url', 'provider.url', [ACCEPTS]],
    ['the issuer is a number', '  check(', '  issuer: () => 7,\n  check(', [ACCEPTS]],
    ['iss is not compared', '  check(', "  issuer: 'own',\n  check(", [OWN_ISSUER]],
    ['the id is not a string', 'provider_user_id: user.id', 'provider_user_id: [user.id]', [SAME]],
    ['the code in an address', '/api/login-codes`', '/api/login-codes?code=${code}`', [SENT]],
    ['a changed code', 'clientSecret, code }', 'clientSecret, code: code.toUpperCase() }', [SENT]],
    ['an error without code', "{ error: 'invalid_grant' }", '{}', [REFUSED]],
    ['the secret in a message', "new Error('code refused')", 'new Error(provider.clientSecret)', [REFUSED]],
    ['text is thrown', 'throw new Error(`the provider', 'throw (`the provider', [FAULT]],
    ['a fault becomes invalid_grant', 'response.status === 403', '!response.ok', [FAULT]],
    [
      'an unreadable answer becomes invalid_grant',
      'return JSON.parse(text + decoder.decode());',
      "try { return JSON.parse(text); } catch { throw Object.assign(new Error('no'), { error: 'invalid_grant' }); }",
      [HTML, NOTHING],
    ],
    [
      'an id without an answer',
      'return JSON.parse(text + decoder.decode());',
      "return text[0] === '{' ? JSON.parse(text) : { id: 'u-1' };",
      [HTML, NOTHING, NULL],
    ],
    ['an endless answer is read', 'text.length > LARGEST_ANSWER', 'false', [LARGE]],
    ['a redirect is followed', "redirect: 'error',", '', [REDIRECT]],
    ['the signal is ignored', 'signal, //', '//', [SIGNAL]],
  ])('finds: %s', async (_name, from, to, expected) => {
    expect(await broken('adapter.js', play, from, to)).toEqual(expected);
  });

  it.each<[string, string, string, string[]]>([
    [
      'no state in the callback',
      'serviceOf(redirectUri, state));\n    return page',
      'redirectUri);\n    return page',
      [BACK],
    ],
    ['a refusal becomes a fault', "failure === 'INVALID_TICKET' ||", "failure === 'X' ||", [REFUSED]],
  ])('finds in an adapter with its own callback: %s', async (_name, from, to, expected) => {
    expect(await broken('cas.js', cas, from, to)).toEqual(expected);
  });

  it.each(['state', 'code'])('finds a callback with two values of %s', async (name) => {
    const callback = (page: URL): URL => {
      const back = new URL(page.searchParams.get('return_to')!);
      for (const one of ['code', 'state', name])
        back.searchParams.append(one, one === 'code' ? CODE : page.searchParams.get('state')!);
      return back;
    };
    expect(await broken('adapter.js', { ...play, callback })).toEqual([BACK]);
  });

  it('closes its provider', async () => {
    let url = '';
    const options = (at: string): Record<string, string> => ({ at: (url = at) });
    const { default: adapter } = (await import(join(EXAMPLE, 'adapter.js'))) as { default: ProviderAdapter };
    await adapterChecks(adapter, { ...play, options })[0]!.run();
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });

  it.each([
    ['the secret of the contract test', true],
    ['?s=the%20secret%20of%20the%20contract%20test', true],
    ['s=the+secret+of+the+contract+test', true],
    ['the secret of the contract', false],
  ])('looks for secrets in each encoding: %s', (text, expected) => {
    expect(contains(text, SECRET)).toBe(expected);
  });
});
