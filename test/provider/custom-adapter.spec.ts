import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import request from 'supertest';
import type { InvalidSettings } from '../../src/config/settings/invalid-settings.js';
import { parseSettings } from '../../src/config/settings/parse-settings.js';
import { adapterChecks, type Play } from '../../src/provider/adapter-test.js';
import { checkAdapters } from '../../src/provider/custom/custom-adapters.js';
import { Provider } from '../../src/provider/provider.js';
import type { ProviderAdapter } from '../../src/provider/provider-adapter.js';
import { createDatabase, query } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { startServiceProcess } from '../support/service-process.js';
import { providerSettings, StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';

const EXAMPLE = fileURLToPath(new URL('../../examples/provider-adapter/', import.meta.url));
const SECRET = 'a client secret of the stub';

/** A part of an example, and what is put in its place. */
type Change = [from: string, to: string];

/** Adapters that integrators write (contract §2 `adapter`, §6). */
describe('an adapter of an integrator', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'latchkey-adapter-'));
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  function file(name: string, source: string): string {
    writeFileSync(join(directory, name), source);
    return join(directory, name);
  }

  const env = (adapter: string, url = 'http://127.0.0.1:1'): Record<string, string> => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    'providers.corp.adapter': adapter,
    'providers.corp.url': url,
    'providers.corp.client_id': 'app',
    'providers.corp.client_secret': SECRET,
    'providers.corp.department': 'engineering',
  });

  async function begin(service: TestService): Promise<{ redirect_url: string; state: string }> {
    const { body } = await request(service.url)
      .get('/oauth2/authorize')
      .query({ provider: 'corp' })
      .expect(200);
    return body as { redirect_url: string; state: string };
  }

  async function signIn(service: TestService, code = 'c', more: object = {}): Promise<request.Response> {
    const { state } = await begin(service);
    return request(service.url)
      .post('/oauth2/token')
      .send({ code, state, ...more });
  }

  describe('the template', () => {
    let stub: StubProvider;
    let service: TestService;
    beforeAll(async () => {
      stub = await StubProvider.start();
      service = await startTestService(env(join(EXAMPLE, 'adapter.js'), stub.url));
    });
    afterAll(async () => {
      await service?.close();
      await stub?.close();
    });

    it('signs in', async () => {
      stub.answerWith(200, { id: 'u-1', name: 'Ada', mail: 'ada@corp.example', photo: 'ftp://no' });
      const { redirect_url, state } = await begin(service);
      expect(redirect_url).toBe(
        `${stub.url}/login?app=app&return_to=${encodeURIComponent(`${service.url}/callback`)}&state=${state}`,
      );
      await request(service.url).post('/oauth2/token').send({ code: 'a code', state }).expect(200);
      expect(stub.requests.map(({ path, body }) => [path, JSON.parse(body)])).toEqual([
        ['/api/login-codes', { app: 'app', secret: SECRET, code: 'a code' }],
      ]);
      const users = await query(
        service.databaseUrl,
        'SELECT provider, provider_user_id, username, email, avatar_url FROM users',
      );
      expect(users).toEqual([
        {
          provider: 'corp',
          provider_user_id: 'u-1',
          username: 'Ada',
          email: 'ada@corp.example',
          avatar_url: null,
        },
      ]);
    });

    it.each([
      [403, {}, 401, 'invalid_grant'],
      [500, {}, 500, 'server_error'],
      [200, { id: 7 }, 500, 'server_error'],
      [200, { id: '' }, 500, 'server_error'],
    ])('answers status %i with %j', async (status, body, expected, error) => {
      stub.answerWith(status, body);
      const response = await signIn(service);
      expect([response.status, (response.body as { error: string }).error]).toEqual([expected, error]);
    });

    it('has less than 50 lines', () => {
      expect(readFileSync(join(EXAMPLE, 'adapter.js'), 'utf8').split('\n').length).toBeLessThan(50);
    });
  });

  it('gets its settings, and its `memory`, with the code', async () => {
    const adapter = file(
      'echo.mjs',
      `export default new (class {
        issuer = 'own';
        authorizationUrl(provider, { state }) {
          return { url: new URL('https://corp.example/?state=' + state), memory: { nonce: 'n-' + state } };
        }
        async exchange(provider, { code, state, redirectUri, iss, memory, signal }) {
          if (code === 'refused') throw Object.assign(new Error('no'), { error: 'invalid_client' });
          const same = memory.nonce === 'n-' + state && signal instanceof AbortSignal;
          return { provider_user_id: [same, code, redirectUri, iss, provider.options.department].join() };
        }
      })();`,
    );
    const service = await startTestService(env(adapter));
    try {
      expect((await signIn(service, 'c', { iss: 'https://corp.example' })).status).toBe(200);
      expect(await query(service.databaseUrl, 'SELECT provider_user_id AS id FROM users')).toEqual([
        { id: `true,c,${service.url}/callback,https://corp.example,engineering` },
      ]);
      expect((await signIn(service, 'refused')).body).toMatchObject({ error: 'invalid_client' });
    } finally {
      await service.close();
    }
  });

  it.each([
    ['nothing', 'undefined'],
    ['text', '"https://corp.example"'],
    ['an invalid URL', '({ url: "corp.example", memory: {} })'],
  ])('that makes %s of an authorization is a server_error', async (_name, answer) => {
    const adapter = file(
      `bad-${_name.length}.mjs`,
      `export default { authorizationUrl: () => ${answer}, exchange: async () => ({}) };`,
    );
    const service = await startTestService(env(adapter));
    try {
      await request(service.url).get('/oauth2/authorize').query({ provider: 'corp' }).expect(500);
    } finally {
      await service.close();
    }
  });

  it('that makes no authorization at all is given up at the deadline', async () => {
    const adapter: ProviderAdapter = {
      authorizationUrl: () => new Promise(() => undefined),
      exchange: () => Promise.reject(new Error('never asked')),
    };
    const settings = providerSettings('slow');
    const slow = new Provider(settings, adapter, 50);
    await expect(
      slow.authorizationUrl({ state: 's', redirectUri: 'https://a.example' }),
    ).rejects.toMatchObject({ error: 'server_error' });
  });

  const check = async (variables: Record<string, string>, times = {}): Promise<string[]> => {
    const warnings: string[] = [];
    const all = { load: 30_000, check: 30_000, ...times };
    await checkAdapters(parseSettings(variables), (line) => void warnings.push(line), all);
    return warnings;
  };
  const UPPER = (adapter: string): Record<string, string> => ({
    PROVIDERS_CORP_ADAPTER: adapter,
    PROVIDERS_CORP_CLIENT_ID: 'app',
    PROVIDERS_CORP_CLIENT_SECRET: SECRET,
  });
  const working = 'authorizationUrl() {}, exchange() {}';

  describe('whose file is not an adapter', () => {
    it.each<[string, () => string, string]>([
      ['no such file', () => join(directory, 'nothing.js'), 'cannot be loaded (Cannot find module'],
      ['no such package', () => 'oicd', 'cannot be loaded (Cannot find'],
      [
        'a file with a fault',
        () => file('fault.mjs', 'throw new Error("no\\nway")'),
        'cannot be loaded (no)',
      ],
      [
        'a file that is not JavaScript',
        () => file('syntax.mjs', 'export default {'),
        'cannot be loaded (Unexpected',
      ],
      [
        'no default export',
        () => file('named.mjs', 'export const adapter = {};'),
        'has no authorizationUrl() and no exchange()',
      ],
      [
        'one function',
        () => file('half.mjs', 'export default { exchange() {} };'),
        'has no authorizationUrl()',
      ],
      [
        'a class',
        () => file('class.mjs', 'export default class { authorizationUrl() {} exchange() {} }'),
        'is not an adapter',
      ],
      ['another package', () => 'dotenv', 'is not an adapter'],
      [
        'an issuer that is text',
        () => file('issuer.mjs', `export default { ${working}, issuer: 'https://corp.example' };`),
        "its issuer is neither a function nor 'own'",
      ],
      [
        'a check that is not a function',
        () => file('check.mjs', `export default { ${working}, check: true };`),
        'its check is not a function',
      ],
    ])('is told in one line: %s', async (_name, make, reason) => {
      const adapter = make();
      for (const [variables, name] of [
        [env(adapter), 'providers.corp.adapter'],
        [UPPER(adapter), 'PROVIDERS_CORP_ADAPTER'],
      ] as const) {
        const [before = '', ...after] = (await refusal(variables)).split(reason);
        expect(before).toMatch(`${name}: was "`);
        expect(after.join(reason)).toMatch(/^[^\n]*; accepted: contract, oidc, [^\n]*$/);
      }
    });

    it('is told when it never ends loading', async () => {
      const endless = file('endless.mjs', 'await new Promise(() => undefined); export default {};');
      await expect(check(env(endless), { load: 50 })).rejects.toThrow('which was not done within 50 ms');
    });

    it('is told together with all others', async () => {
      const two = { ...env(join(directory, 'one.js')), ...UPPER('no-such-package') };
      const others = Object.entries(two).map(([name, value]) => [name.replace('CORP', 'OTHER'), value]);
      await expect(check(Object.fromEntries(others))).rejects.toMatchObject({
        errors: [
          expect.stringContaining('providers.corp.adapter: '),
          expect.stringContaining('PROVIDERS_OTHER_ADAPTER: '),
        ],
      });
    });

    /** The one fault of the settings. */
    async function refusal(variables: Record<string, string>): Promise<string> {
      const error: unknown = await check(variables).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ name: 'InvalidSettings', errors: [expect.any(String)] });
      return (error as InvalidSettings).errors[0]!;
    }

    it('stops the start before anything has been made, with that line and nothing else', async () => {
      let connections = 0;
      const database = createServer((socket) => {
        connections++;
        socket.destroy();
      });
      await new Promise<void>((resolve) => database.listen(0, '127.0.0.1', resolve));
      const DATABASE_URL = `postgres://u:p@127.0.0.1:${(database.address() as AddressInfo).port}/x`;
      const dataDir = mkdtempSync(join(directory, 'data-'));
      try {
        for (const [place, variables, name] of [
          [{ DATABASE_URL }, env('./no-such-adapter.js'), 'providers.corp.adapter'],
          [{}, UPPER('./no-such-adapter.js'), 'PROVIDERS_CORP_ADAPTER'],
        ] as const) {
          const started = startServiceProcess({ ...variables, ...place, DATA_DIR: dataDir });
          const { message } = (await started.catch((error: unknown) => error)) as Error;
          expect(message).not.toMatch(/^\s*at |"stack"|Retrying|PostgreSQL/m);
          const text = message.split('\n').filter((line) => line !== '' && !line.startsWith('{')); // beside the log
          expect(text).toEqual([
            'the service ended with code 1:',
            'invalid settings, nothing was started:',
            expect.stringMatching(
              new RegExp(
                `^ {2}${name}: was ".*no-such-adapter\\.js", which cannot be loaded .*; accepted: contract, `,
              ),
            ),
          ]);
        }
        expect([connections, readdirSync(dataDir)]).toEqual([0, []]);
      } finally {
        database.close();
      }
    });
  });

  describe('that checks its settings', () => {
    const checking = (body: string): string =>
      file(`check-${files++}.mjs`, `export default { ${working}, async check(provider) { ${body} } };`);
    let files = 0;

    it('gets them before the start, as it does at the exchange', async () => {
      const adapter = checking(
        `const { name, clientId, options } = provider;
         throw new Error([this !== undefined, name, clientId, options.department].join());`,
      );
      expect(await check(env(adapter))).toEqual([
        'Provider corp could not be checked (true,corp,app,engineering): the service starts all the same.',
      ]);
    });

    it.each(['invalid_request', 'invalid_client'])('stops the start with %s', async (error) => {
      const adapter = checking(
        `throw Object.assign(new Error('department\\u001b[1m\\nis'), { error: '${error}' });`,
      );
      await expect(check(UPPER(adapter))).rejects.toMatchObject({
        errors: [
          `PROVIDERS_CORP_ADAPTER: was ${JSON.stringify(adapter)}, which refuses its settings (department [1m); accepted: settings that it takes`,
        ],
      });
    });

    it('stops it with a line for each fault, which names the setting and holds no secret', async () => {
      const adapter = checking(
        `const fault = (setting, text) => Object.assign(new Error(text), { error: 'invalid_request', setting });
         throw new AggregateError([
           fault('department', 'no such department'), fault('region', 'secret ' + provider.clientSecret),
           fault('a.b', 'unnamed'), new Error('and away'),
         ]);`,
      );
      const faults = (names: readonly string[]): unknown[] => [
        `${names[0]}: is refused by the adapter of corp (no such department); accepted: what it takes`,
        `${names[1]}: is refused by the adapter of corp (secret ***); accepted: what it takes`,
        expect.stringContaining('which refuses its settings (unnamed); accepted'),
      ];
      for (const [variables, names] of [
        [env(adapter), ['providers.corp.department', 'providers.corp.region']],
        [UPPER(adapter), ['PROVIDERS_CORP_DEPARTMENT', 'PROVIDERS_CORP_REGION']],
      ] as const) {
        await expect(check(variables)).rejects.toMatchObject({ faults: faults(names) });
      }
    });

    it.each([
      ['of another kind', `throw Object.assign(new Error('away'), { error: 'server_error' });`, 'away'],
      ['that is not an Error', 'throw null;', 'unknown error'],
      ['about the network', `await fetch('http://127.0.0.1:1');`, 'fetch failed'],
    ])(
      'does not stop it with an error %s: a provider may be unreachable for a moment',
      async (_name, body, reason) => {
        expect(await check(env(checking(body)))).toEqual([
          `Provider corp could not be checked (${reason}): the service starts all the same.`,
        ]);
      },
    );

    it('does not stop it when it never ends', async () => {
      const endless = checking('await new Promise(() => undefined);');
      expect(await check(env(endless), { check: 50 })).toEqual([
        'Provider corp could not be checked (was not done within 50 ms): the service starts all the same.',
      ]);
    });

    it('says nothing when all is well', async () => expect(await check(env(checking('')))).toEqual([]));

    it('does so when the service starts', async () => {
      const away = checking(`throw new Error('away');`);
      const database = await createDatabase();
      try {
        const service = await startServiceProcess({
          ...env(away),
          DATABASE_URL: database.url,
          CORS_ORIGIN: 'https://app.example',
          REDIRECT_URIS: 'https://*.app.example/cb',
          PROVIDERS_HALF_ADAPTER: './half.js',
          PROVIDERS_HALF_URL: 'https://half.example',
          PROVIDERS_GONE_ADAPTER: 'oidc', // of ours: its provider is looked at when the service has started
          PROVIDERS_GONE_URL: 'http://127.0.0.1:1',
          PROVIDERS_GONE_CLIENT_ID: 'app',
          PROVIDERS_GONE_CLIENT_SECRET: SECRET,
        });
        await until(() => service.output().includes('Provider gone'));
        // One line each, like the other warnings about settings.
        for (const line of [
          'Provider corp could not be checked',
          'CORS_ORIGIN is not a setting',
          'REDIRECT_URIS has an entry with',
          'Provider half has no client_id',
          'Provider gone cannot be used now: ',
        ]) {
          expect(service.output().split(line)).toHaveLength(2);
        }
        expect(await service.end('SIGTERM')).toBe(0);
      } finally {
        await database.drop();
      }
    });
  });

  describe('the contract test for authors', () => {
    let changed = 0;

    /** Runs the rules on a changed example; returns those that fail. */
    async function failures(example: string, play: Play, change: Change): Promise<string[]> {
      const source = readFileSync(join(EXAMPLE, example), 'utf8');
      expect(source).toContain(change[0]);
      const path = file(`changed-${changed++}.mjs`, source.replace(...change));
      const failed: string[] = [];
      const { default: adapter } = (await import(path)) as { default: ProviderAdapter };
      for (const { name, run } of adapterChecks(adapter, play)) {
        await run().catch(() => failed.push(name));
      }
      return failed;
    }

    it.each(['adapter', 'cas'])('passes as the example has it: %s', async (name) => {
      const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
      const args = ['--test', '--test-reporter=tap', join(EXAMPLE, `${name}.test.js`)];
      const [code, output] = await new Promise<[unknown, string]>((resolve) => {
        execFile(process.execPath, args, { env: environment }, (error, stdout) =>
          resolve([error?.code ?? 0, stdout]),
        );
      });
      expect(output).toMatch(/# pass 1[3-9]/);
      expect([code, output.match(/# fail \d+/)?.[0]]).toEqual([0, '# fail 0']);
    });

    const BACK = 'the browser comes back with state and code, and the secret is in no address';
    const MEMORY = 'authorizationUrl returns a URL, or { url, memory } with a small JSON object';
    const CODE_SENT = 'exchange sends the code as it is, and neither code nor secret in an address';
    const REFUSED = 'exchange says invalid_grant when the provider refuses the code';
    const BROKEN = 'exchange fails when the provider has an internal error';
    const ACCEPTS = 'check and issuer accept these settings';
    const SAME = 'exchange returns the identity, the same each time';

    it.each<[string, Change, string[]]>([
      ['a state left out', [', state }).toString', ' }).toString'], [BACK]],
      ['a redirect URI that was changed', ['return_to: redirectUri', 'return_to: redirectUri + "#"'], [BACK]],
      [
        'the secret in the address',
        ['state }).toString', 'state, s: provider.clientSecret }).toString'],
        [BACK],
      ],
      [
        'text in place of a URL',
        ['return url; //', 'return { url: url.href, memory: {} }; //'],
        [MEMORY, BACK],
      ],
      [
        'memory that JSON changes',
        ['return url; //', 'return { url, memory: { at: new Date() } }; //'],
        [MEMORY],
      ],
      [
        'memory that is large',
        ['return url; //', 'return { url, memory: { at: "x".repeat(5000) } }; //'],
        [MEMORY],
      ],
      [
        'an issuer that is text',
        ['  check(', "  issuer: 'https://corp.example',\n  check("],
        ['authorizationUrl and exchange are functions; issuer and check may be left out'],
      ],
      ['an issuer that is a number', ['  check(', '  issuer: () => 7,\n  check('], [ACCEPTS]],
      ['settings refused that are right', ['!provider.url', 'provider.url'], [ACCEPTS]],
      [
        'an issuer that nobody judges',
        ['  check(', "  issuer: 'own',\n  check("],
        ['the callback of another server is refused before the code is sent'],
      ],
      ['a redirect followed', ["redirect: 'error',", ''], ['exchange follows no redirect']],
      ['a signal ignored', ['signal, //', '//'], ['exchange ends when the signal says so']],
      ['an error without code', ["{ error: 'invalid_grant' }", '{}'], [REFUSED]],
      ['a fault taken for a refusal', ['response.status === 403', '!response.ok'], [BROKEN]],
      [
        'an answer without end',
        ['text.length > LARGEST_ANSWER', 'false'],
        ['exchange reads no more than 64 KiB'],
      ],
      ['an id that is not a string', ['provider_user_id: user.id', 'provider_user_id: [user.id]'], [SAME]],
      ['a name that is not a string', ['username: user.name', 'username: 7'], [SAME]],
      ['the code in an address', ['/api/login-codes`', '/api/login-codes?code=${code}`'], [CODE_SENT]],
      [
        'a code that was changed',
        ['clientSecret, code }', 'clientSecret, code: code.toUpperCase() }'],
        [CODE_SENT],
      ],
      [
        'the secret in a message',
        ["new Error('code refused')", 'new Error(provider.clientSecret)'],
        [REFUSED],
      ],
      [
        'the code in a cause',
        ["Error('code refused')", "Error('no', { cause: new Error(code) })"],
        [REFUSED],
      ],
      ['what is thrown and no error', ['throw new Error(`the provider', 'throw (`the provider'], [BROKEN]],
    ])('finds %s', async (_name, change, expected) => {
      const play: Play = {
        userId: 'u-1',
        accepted: () => ({ body: { id: 'u-1', name: 'Ada' } }),
        refused: () => ({ status: 403, body: {} }),
      };
      expect(await failures('adapter.js', play, change)).toEqual(expected);
    });

    it.each<[string, Change, string[]]>([
      [
        'a state that does not come back',
        ['serviceOf(redirectUri, state));\n    return page', 'redirectUri);\n    return page'],
        [BACK],
      ],
      [
        'a redirect URI whose query is lost',
        ["redirectUri.includes('?') ? '&' : '?'", "'&from=other&'"],
        [BACK],
      ],
      ['a failure taken for a fault', ["failure === 'INVALID_TICKET' ||", "failure === 'X' ||"], [REFUSED]],
    ])('finds where state and code are another way: %s', async (_name, change, expected) => {
      const success = { user: 'ada', attributes: { mail: ['ada@campus.example'] } };
      const play: Play = {
        userId: 'ada',
        accepted: () => ({ body: { serviceResponse: { authenticationSuccess: success } } }),
        refused: () => ({ body: { serviceResponse: { authenticationFailure: { code: 'INVALID_TICKET' } } } }),
        codeInAddress: true,
        callback: (page, code) => `${page.searchParams.get('service')}&ticket=${code}`,
      };
      expect(await failures('cas.js', play, change)).toEqual(expected);
    });
  });
});
